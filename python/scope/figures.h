// python/scope/figures.h - figures for Python.
#pragma once

#include <nanobind/nanobind.h>

#include "figure/scene/figure.h"

namespace attn::python {

// A composed figure, which the package's class Figure holds as `_held`.
struct Drawing {
  figure::Figure figure;
};

void bind_figures(nanobind::module_& m);

}  // namespace attn::python
