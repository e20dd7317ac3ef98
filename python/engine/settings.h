// python/engine/settings.h - reads the options of a call as attnscope/_attention.py passes them.
#pragma once

#include <nanobind/nanobind.h>

#include "attn/attention.h"
#include "attn/linear.h"
#include "python/engine/arrays.h"

namespace attn::python {

// Options, and the arrays that they borrow from.
struct Settings {
  Options options;
  Array bias, sink;
};

// given: (mask, scale, softcap, bias, sink, dropout, seed)
void read_settings(const nb::tuple& given, const Extent& extent, Settings& settings);

// given: (feature, causal, epsilon)
LinearOptions read_linear(const nb::tuple& given);

Extent extent_of(const AnyView<4>& q, const AnyView<4>& k);

}  // namespace attn::python
