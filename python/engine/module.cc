// python/engine/module.cc - the extension module of the engine, attnscope._attnscope.
#include <nanobind/nanobind.h>

#include "python/engine/backward.h"
#include "python/engine/bias.h"
#include "python/engine/cache.h"
#include "python/engine/calls.h"
#include "python/engine/masks.h"
#include "python/engine/runtime.h"

NB_MODULE(_attnscope, m) {
  // torch exits without freeing its graphs, which hold masks: do not report them as leaks.
  nanobind::set_leak_warnings(false);
  attn::python::bind_masks(m);
  attn::python::bind_bias(m);
  attn::python::bind_cache(m);
  attn::python::bind_calls(m);
  attn::python::bind_backward(m);
  m.def("set_num_threads", &attn::python::replace_pool);
  m.def("get_num_threads", [] { return attn::python::pool()->threads(); });
  m.def("after_fork", &attn::python::forget_pool);
  attn::python::offer_thread_count(m);
  m.attr("version") = ATTNSCOPE_VERSION;
}
