// python/scope/pages.h - recordings on a page: served by this process, or as one file.
#pragma once

#include <nanobind/nanobind.h>

namespace attn::python {

void bind_pages(nanobind::module_& m);

}  // namespace attn::python
