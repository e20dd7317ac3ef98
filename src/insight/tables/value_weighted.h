// insight/tables/value_weighted.h - weights times the norm of the transformed values (Kobayashi et al., 2020).
//
//   |p[i,j] f(x_j)|,  f(x) = (x W_V + b_V) W_O      W_V, b_V and W_O: a head's own columns and rows
//
// As in the paper, the bias of the values is part of f. The bias of the output projection is not: it is added once for
// all heads together and belongs to none of them.
#pragma once

#include <memory>

#include "insight/tables/attention_tables.h"

namespace attn::insight {

// The same heads with |p[i,j] v_j W_O| in place of p[i,j]: a large weight on a small value becomes small. Rows no
// longer sum to 1. Throws std::invalid_argument if `tables` have no recording, are weighted already, or were recorded
// without value norms (model::Keep::value_norms).
std::unique_ptr<AttentionTables> value_weighted(std::shared_ptr<const AttentionTables> tables);

}  // namespace attn::insight
