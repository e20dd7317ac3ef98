// python/engine/bias.h - biases by distance for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace attn::python {

// Whether x is an attnscope.DistanceBias, whose table, numpy or torch, [1|H, N+M-1], is a bias by distance, not a dense
// one. The class is written in Python, so that torch.compile can trace it.
bool is_distance_bias(nanobind::handle x);

void bind_bias(nanobind::module_& m);

}  // namespace attn::python
