// python/scope/insight.h - analyses of recordings, for Python: find, rollout, flow, trace, ablate, compare.
#pragma once

#include <nanobind/nanobind.h>

namespace attn::python {

void bind_insight(nanobind::module_& m);

}  // namespace attn::python
