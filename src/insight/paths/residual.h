// insight/paths/residual.h - the heads of a layer and the residual connection as one table (Abnar & Zuidema, 2020).
//
//   A = 0.5 mean over heads of p + 0.5 I,  each row divided by its sum
//
// A[i,j]: how much of token j below the layer is in token i above it.
#pragma once

#include <cstdint>
#include <vector>

#include "attn/thread_pool.h"
#include "attn/view.h"
#include "insight/tables/attention_tables.h"

namespace attn::insight {

// Tokens above a layer, to be followed down to the input.
struct UpperTokens {
  std::int64_t layer = 0;            // follow through the layers 0 .. layer
  std::vector<std::int64_t> tokens;  // at least one
};

// Throws std::invalid_argument if the layer or a token does not exist, or if queries and keys differ: only attention of
// kind self leads from tokens to the same tokens.
void check(const AttentionTables& tables, const UpperTokens& upper);

// Writes rows [first, first + R) of a layer's A into out [R, N].
void with_residual(const AttentionTables& tables, std::int64_t layer, std::int64_t first, View<float, 2> out,
                   ThreadPool& pool);

}  // namespace attn::insight
