// python/engine/arrays.h - numpy arrays and torch tensors as the engine sees them: borrowed, not copied.
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

// An argument. Axes that the array lacks are 1 and stand in front: [N, D] is seen as [1, 1, N, D].
struct Array {
  Kind kind = Kind::numpy;
  int rank = 0;
  AnyView<4> view;
  nb::object owner;  // what the view borrows from
  nb::object dtype;
};

// What an argument may be.
struct Wanted {
  const char* name;  // the parameter's, for messages
  int least_rank = 2;
  int most_rank = 4;
  bool any_float = false;  // other float types are converted to float32 instead of refused
};

// An argument that is watched by torch's autograd, where nothing is recorded for it.
struct GradientWanted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws TypeError for anything but a dense array of floats in the machine's memory, ValueError for a wrong rank,
// GradientWanted. A last axis that is not dense is copied once, with a UserWarning.
Array read_array(nb::handle x, const Wanted& wanted);

// The last Rank axes of an array that any_float was asked for.
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
// Of the array's kind, and without the axes that it lacks.
Result new_result_like(const Array& array, const Shape<4>& shape);

// The array in the element type of `like`: itself if that is float32.
nb::object in_type_of(const Array& like, nb::object array);

// A numpy array's memory, whatever its element type. Strides count bytes.
struct Raw {
  void* data = nullptr;
  int rank = 0;
  std::int64_t item_size = 0;
  Shape<4> shape{};
  Shape<4> strides{};
};
Raw read_raw(nb::handle numpy_array);

std::string shape_text(std::span<const std::int64_t> shape);

}  // namespace attn::python
