// train/gradient_share.h - a batch shared out over ranks, and what they make of it put together.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "attn/ranks.h"
#include "nn/learn/loss.h"
#include "nn/learn/parameters.h"
#include "nn/learn/pass.h"
#include "train/trainable_model.h"

namespace attn::train {

struct Share {
  TrainingBatch batch;
  nn::PartOf part;
};

// What rank `rank` of `size` learns of a batch: sequences that lie side by side, at least one, and about as many tokens
// as the others. Throws std::invalid_argument if there are fewer sequences than ranks.
Share share_of(const TrainingBatch& batch, int rank, int size);

// Each gradient becomes its sum over the ranks, the same bits on all of them. All must call it.
void sum_gradients(Ranks& ranks, nn::Parameters& parameters);

// The sum of loss_of(0), ..., loss_of(count - 1), each made by one rank and all added up in this order: the same bits
// for any number of ranks. None: loss_of gave none somewhere. All must call it.
std::optional<nn::Loss> shared_loss(Ranks& ranks, std::size_t count,
                                    const std::function<std::optional<nn::Loss>(std::size_t)>& loss_of);

// What the first rank that has other facts than rank 0 has, in words with both values; empty: all have the same. All
// must call it, and all get the same answer.
std::string difference(Ranks& ranks, const std::map<std::string, std::string, std::less<>>& mine);

}  // namespace attn::train
