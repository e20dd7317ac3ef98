// python/calls.h - attention(), weights() and linear_attention() for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace attn::python {

// A bias that depends on j - i alone, so that attention() knows it from a dense one.
struct DistanceBias {
  nanobind::object table;  // numpy or torch, float32 [1|H, N+M-1]
};

void bind_calls(nanobind::module_& m);

}  // namespace attn::python
