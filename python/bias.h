// python/bias.h - biases by distance for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace attn::python {

// Says that a table is a bias by distance, so that attention() knows it from a dense one.
struct DistanceTable {
  nanobind::object table;  // numpy or torch, [1|H, N+M-1]
};

void bind_bias(nanobind::module_& m);

}  // namespace attn::python
