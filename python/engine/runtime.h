// python/engine/runtime.h - what is looked up once and used in every call: attribute names, types of numpy and torch,
// the thread pool.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "attn/thread_pool.h"
#include "python/engine/exchange.h"

namespace attn::python {

namespace nb = nanobind;

// An interned attribute name: PyObject_GetAttrString would build a string in every call.
class Name {
 public:
  explicit Name(const char* text) : text_(PyUnicode_InternFromString(text)) {}

  [[nodiscard]] nb::object of(nb::handle x) const;                    // x.name
  [[nodiscard]] nb::object call(nb::handle x) const;                  // x.name()
  [[nodiscard]] nb::object call(nb::handle x, nb::handle arg) const;  // x.name(arg)

 private:
  PyObject* text_;
};

// Null until the library has been imported, by the caller or by numpy_now(): importing attnscope imports neither.
struct Numpy {
  PyTypeObject* ndarray;
  PyObject *empty, *from_dlpack, *ascontiguousarray;
  PyObject *float32, *float16, *boolean, *uint16;
};
struct Torch {
  PyTypeObject* tensor;
  DescribeTensor describe;  // null if this version of torch has none
  PyObject *empty, *empty_names, *empty_like, *cpu;
  PyObject *float32, *float16, *bfloat16, *strided;
};
const Numpy* numpy_if_imported();
const Numpy& numpy_now();
const Torch* torch_if_imported();
const Torch& torch_now();

// The pool for all calls of this module. A running call keeps the pool that it started with.
std::shared_ptr<ThreadPool> pool();
void replace_pool(int threads);
// Each module has its own pool, because the code of the pool, fork counters included, is linked into both. The engine's
// module exports the requested number of threads, and the other follows it, so that one set_num_threads() sets both.
void offer_thread_count(nb::module_& module);
void follow_thread_count(nb::handle of_module);
// A forked child has the pool's memory but none of its threads.
void forget_pool();

}  // namespace attn::python
