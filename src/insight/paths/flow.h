// insight/paths/flow.h - attention flow (Abnar & Zuidema, 2020): how much of a token of the text can reach a token
// above.
//
// Tokens before, between and after the layers are the nodes of a graph; from token i above a layer to token j below it
// leads an edge of capacity A[i,j] (residual.h). The flow from an upper token to a token of the text is the largest
// that these edges can carry. It is never more than 1, what leaves the upper token, nor more than what leads into the
// text's token. The authors' program divides the flows of an upper token by their sum; here they are as they are.
//
// For attention of kind self, as the rollout.
#pragma once

#include <cstdint>

#include "attn/thread_pool.h"
#include "base/progress.h"
#include "insight/paths/residual.h"
#include "insight/tables/attention_tables.h"
#include "nn/infer/matrix.h"

namespace attn::insight {

inline constexpr std::int64_t kMostFlowTokens = 512;

// [tokens, N]: a maximum flow for every chosen token and every token of the text, each an O(layers N^2) graph. Exact
// for capacities rounded to whole numbers of 2^-50: as the paper's graph, but for at most layers N^2 2^-51 (2e-9 for
// 12 layers and 512 tokens). Throws std::invalid_argument above kMostFlowTokens tokens.
nn::Matrix flow(const AttentionTables& tables, const UpperTokens& upper, ThreadPool& pool,
                const base::Progress& progress = {});

}  // namespace attn::insight
