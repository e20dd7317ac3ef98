// python/engine/backward.h - gradients of attention() and linear_attention() for attnscope/torch.py.
#pragma once

#include <nanobind/nanobind.h>

namespace attn::python {

void bind_backward(nanobind::module_& m);

}  // namespace attn::python
