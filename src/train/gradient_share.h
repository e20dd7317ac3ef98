// train/gradient_share.h - splits a batch over ranks and combines their gradients and losses.
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

struct BatchShare {
  TrainingBatch batch;
  nn::PartOf part;
};

// Rank `rank`'s part of a batch: consecutive sequences, at least one, with about as many tokens as the others. Throws
// std::invalid_argument if there are fewer sequences than ranks.
BatchShare share_of(const TrainingBatch& batch, int rank, int size);

// Replaces each gradient by its sum over the ranks, bit-identical on all of them. All must call it.
void sum_gradients(Ranks& ranks, nn::Parameters& parameters);

// The sum of loss_of(0), ..., loss_of(count - 1). Each term is computed by one rank and all are added in this order:
// the same bits for any number of ranks. None if loss_of returned none anywhere. All must call it.
std::optional<nn::Loss> shared_loss(Ranks& ranks, std::size_t count,
                                    const std::function<std::optional<nn::Loss>(std::size_t)>& loss_of);

// Describes how the first rank that differs from rank 0 does so, with both values; empty: all agree. All must call it,
// and all get the same result.
std::string difference(Ranks& ranks, const std::map<std::string, std::string, std::less<>>& mine);

}  // namespace attn::train
