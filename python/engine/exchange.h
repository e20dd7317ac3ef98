// python/engine/exchange.h - reads tensors through the C function table of DLPack 1.3: 0.1 us each, against 0.6 us
// through attributes.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace attn::python {

// Describes a tensor without taking ownership. Returns -1 and sets a Python error on failure.
using DescribeTensor = int (*)(void* object, nanobind::dlpack::dltensor* out);

// Null if this version of the library has no such table.
DescribeTensor describe_tensor_of(PyTypeObject* type);

}  // namespace attn::python
