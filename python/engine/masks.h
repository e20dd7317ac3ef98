// python/engine/masks.h - masks and plans for Python.
#pragma once

#include <nanobind/nanobind.h>

#include "attn/mask.h"
#include "attn/tile_plan.h"

namespace attn::python {

namespace nb = nanobind;

// A mask compiled for one shape, and the mask itself.
struct Plan {
  Mask mask;
  TilePlan tiles;
};

// Resolves the mask= of a call for a problem of this extent: None, Mask, Plan or a numpy array of bool or float32.
// The axes of a table count from the right: [N, M], [H, N, M]; attn::table_axes has the rule.
struct MaskArgument {
  Mask mask;
  const TilePlan* plan = nullptr;
};
MaskArgument read_mask(nb::handle x, const Extent& extent);

void bind_masks(nb::module_& m);

}  // namespace attn::python
