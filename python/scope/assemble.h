// python/scope/assemble.h - recordings of models that ran elsewhere, from their parts.
#pragma once

#include <nanobind/nanobind.h>

namespace attn::python {

void bind_assemble(nanobind::module_& m);

}  // namespace attn::python
