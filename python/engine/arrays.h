// python/engine/arrays.h - reads numpy arrays and torch tensors as views, without copying.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include "attn/view.h"

namespace attn::python {

namespace nb = nanobind;

enum class Kind : std::uint8_t { numpy, torch };

// An argument. Missing leading axes are 1: [N, D] is read as [1, 1, N, D].
struct Array {
  Kind kind = Kind::numpy;
  int rank = 0;
  AnyView<4> view;
  nb::object owner;  // what the view borrows from
  nb::object dtype;
};

// Which arrays an argument accepts.
struct Wanted {
  const char* name;  // of the parameter, for messages
  int least_rank = 2;
  int most_rank = 4;
  bool any_float = false;  // convert other float types to float32 instead of rejecting them
};

// Thrown for an argument that requires a gradient, in a call that computes none.
struct GradientWanted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws TypeError for anything but a dense array of floats in CPU memory, ValueError for a wrong rank, GradientWanted
// as above. Copies an array whose last axis is not contiguous, with a UserWarning.
Array read_array(nb::handle x, const Wanted& wanted);

// The last Rank axes of an array that was read with any_float.
template <std::size_t Rank>
View<const float, Rank> last_axes(const Array& array) {
  View<const float, Rank> view;
  view.data = static_cast<const float*>(array.view.data);
  for (std::size_t axis = 0; axis < Rank; ++axis) {
    view.shape[axis] = array.view.shape[4 - Rank + axis];
    view.strides[axis] = array.view.strides[4 - Rank + axis];
  }
  return view;
}

// Fresh float32 memory that numpy or torch owns.
struct Result {
  nb::object array;
  float* data = nullptr;
};
Result new_result(Kind kind, std::span<const std::int64_t> shape);
// Returns an array of the same library, without the axes that `array` lacks.
Result new_result_like(const Array& array, const Shape<4>& shape);

// Converts to the element type of `like`; returns the array itself if that is float32.
nb::object in_type_of(const Array& like, nb::object array);

// The memory of a numpy array of any element type. Strides are in bytes.
struct Raw {
  void* data = nullptr;
  int rank = 0;
  std::int64_t item_size = 0;
  Shape<4> shape{};
  Shape<4> strides{};
};
Raw read_raw(nb::handle numpy_array);

// The shape of an array, with this many keys in its last axis.
nb::object with_keys(nb::handle array, std::int64_t keys);

std::string shape_text(std::span<const std::int64_t> shape);

}  // namespace attn::python
