// insight/paths/residual.h - a layer's heads as one table, together with what goes past them (Abnar & Zuidema, 2020).
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

// Tokens above a layer, which are followed down to the text.
struct UpperTokens {
  std::int64_t layer = 0;            // the last of the layers 0 .. layer
  std::vector<std::int64_t> tokens;  // at least one
};

// Throws std::invalid_argument for what is not there, and where queries are not the keys: only attention of kind self
// leads from tokens to the same tokens.
void check(const AttentionTables& tables, const UpperTokens& upper);

// Rows [first, first + R) of A of a layer into out [R, N].
void with_residual(const AttentionTables& tables, std::int64_t layer, std::int64_t first, View<float, 2> out,
                   ThreadPool& pool);

}  // namespace attn::insight
