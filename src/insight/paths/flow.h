// insight/paths/flow.h - attention flow (Abnar & Zuidema, 2020): how much of an input token can reach an upper token.
//
// The nodes of the graph are the tokens before, between and after the layers; an edge of capacity A[i,j] (residual.h)
// leads from token i above a layer to token j below it. The flow from an upper token to an input token is the maximum
// flow through these edges. It exceeds neither 1, the capacity out of the upper token, nor the capacity into the input
// token. The authors' program divides the flows of an upper token by their sum; these flows are not normalised.
//
// Applies to attention of kind self, like the rollout.
#pragma once

#include <cstdint>

#include "attn/thread_pool.h"
#include "base/progress.h"
#include "insight/paths/residual.h"
#include "insight/tables/attention_tables.h"
#include "nn/infer/matrix.h"

namespace attn::insight {

inline constexpr std::int64_t kMostFlowTokens = 512;

// [tokens, N]: one maximum flow per chosen token and input token, each through a graph of O(layers N^2) edges. Exact
// for capacities rounded to multiples of 2^-50, which changes a flow of the paper's graph by at most layers N^2 2^-51
// (2e-9 for 12 layers and 512 tokens). Throws std::invalid_argument above kMostFlowTokens tokens.
nn::Matrix flow(const AttentionTables& tables, const UpperTokens& upper, ThreadPool& pool,
                const base::Progress& progress = {});

}  // namespace attn::insight
