// python/scope/reports.h - statistics and reports of heads, for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace attn::python {

void bind_reports(nanobind::module_& m);

}  // namespace attn::python
