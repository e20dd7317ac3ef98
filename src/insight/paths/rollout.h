// insight/paths/rollout.h - attention rollout (Abnar & Zuidema, 2020): what tokens are made of after several layers.
//
//   rollout = A_layer ... A_1 A_0,  A as residual.h has it
//
// For attention of kind self: of an encoder or of a decoder that stands alone. The tokens of an encoder-decoder's
// decoder are not followed: they mix two kinds of attention, for which the paper has no rollout.
#pragma once

#include <cstdint>

#include "attn/thread_pool.h"
#include "base/progress.h"
#include "insight/paths/residual.h"
#include "insight/tables/attention_tables.h"
#include "nn/infer/matrix.h"

namespace attn::insight {

inline constexpr std::int64_t kMostRolloutRows = 512;  // of a whole table

// Of the chosen tokens: [tokens, N], each row sums to 1. One pass over the tables of the layers, from the upper one
// downwards, whatever the number of tokens; O(N) memory a token, nothing of size N x N.
nn::Matrix rollout(const AttentionTables& tables, const UpperTokens& upper, ThreadPool& pool,
                   const base::Progress& progress = {});

// Of all tokens: [N, N]. Throws std::invalid_argument above kMostRolloutRows tokens.
nn::Matrix rollout(const AttentionTables& tables, std::int64_t layer, ThreadPool& pool,
                   const base::Progress& progress = {});

}  // namespace attn::insight
