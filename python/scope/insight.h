// python/scope/insight.h - what recordings say, for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace attn::python {

void bind_insight(nanobind::module_& m);

}  // namespace attn::python
