// python/module.cc - the extension module that the package attnscope is made of.
#include <nanobind/nanobind.h>

#include "bias.h"
#include "cache.h"
#include "calls.h"
#include "masks.h"
#include "runtime.h"

NB_MODULE(_attnscope, m) {
  attn::python::bind_masks(m);
  attn::python::bind_bias(m);
  attn::python::bind_cache(m);
  attn::python::bind_calls(m);
  m.def("set_num_threads", &attn::python::replace_pool);
  m.def("get_num_threads", [] { return attn::python::pool()->threads(); });
  m.def("after_fork", &attn::python::forget_pool);
  m.attr("version") = ATTNSCOPE_VERSION;
}
