// python/scope/assemble.h - assembles recordings of models that ran in Python.
#pragma once

#include <nanobind/nanobind.h>

namespace attn::python {

void bind_assemble(nanobind::module_& m);

}  // namespace attn::python
