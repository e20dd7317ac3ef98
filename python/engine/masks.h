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

// What the mask= of a call means for a problem of this extent: None, Mask, Plan or a numpy array of bool or float32.
// rank is that of q: a table of as many axes as q is read axis by axis.
struct MaskArgument {
  Mask mask;
  const TilePlan* plan = nullptr;
};
MaskArgument read_mask(nb::handle x, const Extent& extent, int rank);

void bind_masks(nb::module_& m);

}  // namespace attn::python
