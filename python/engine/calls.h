// python/engine/calls.h - attention(), weights() and linear_attention() for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace attn::python {

void bind_calls(nanobind::module_& m);

}  // namespace attn::python
