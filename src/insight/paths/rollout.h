// insight/paths/rollout.h - attention rollout (Abnar & Zuidema, 2020): what tokens are made of after several layers.
//
//   rollout = A_layer ... A_1 A_0,  A as in residual.h
//
// Applies to attention of kind self: an encoder, or a decoder without an encoder. The decoder of an encoder-decoder
// mixes two kinds of attention, for which the paper defines no rollout.
#pragma once

#include <cstdint>

#include "attn/thread_pool.h"
#include "base/progress.h"
#include "insight/paths/residual.h"
#include "insight/tables/attention_tables.h"
#include "nn/infer/matrix.h"

namespace attn::insight {

inline constexpr std::int64_t kMostRolloutRows = 512;  // for a whole table

// Rollout of the chosen tokens: [tokens, N], each row sums to 1. One pass over the tables of the layers, top layer
// first, for any number of tokens; O(N) memory per token, nothing of size N x N.
nn::Matrix rollout(const AttentionTables& tables, const UpperTokens& upper, ThreadPool& pool,
                   const base::Progress& progress = {});

// Rollout of all tokens: [N, N]. Throws std::invalid_argument above kMostRolloutRows tokens.
nn::Matrix rollout(const AttentionTables& tables, std::int64_t layer, ThreadPool& pool,
                   const base::Progress& progress = {});

}  // namespace attn::insight
