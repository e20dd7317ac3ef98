// python/engine/cache.h - KvCache for Python, and its keys and values as arguments of attention().
#pragma once

#include <nanobind/nanobind.h>

#include "attn/view.h"

namespace attn::python {

namespace nb = nanobind;

// A snapshot of the keys or values of a cache. Tokens added later are not in it; the memory never moves.
struct CacheView {
  AnyView<4> view;
  nb::object cache;  // owns the memory
};

void bind_cache(nb::module_& m);

}  // namespace attn::python
