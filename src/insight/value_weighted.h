// insight/value_weighted.h - attention times what there is to attend to (Kobayashi et al., 2020).
#pragma once

#include <memory>

#include "insight/specimen.h"

namespace attn::insight {

// The same heads with |p[i,j] v_j W_O| in place of p[i,j]: a large weight on a value that says nothing becomes small.
// Rows no longer sum to 1. Throws std::invalid_argument if `specimen` is a table or was recorded without value norms
// (model::Keep::value_norms).
std::unique_ptr<Specimen> value_weighted(std::unique_ptr<Specimen> specimen);

}  // namespace attn::insight
