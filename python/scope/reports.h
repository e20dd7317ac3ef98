// python/scope/reports.h - what heads do, in numbers and in words, for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace attn::python {

void bind_reports(nanobind::module_& m);

}  // namespace attn::python
