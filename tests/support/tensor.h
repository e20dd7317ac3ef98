// tests/support/tensor.h - arrays owned by a test, in the layouts that callers use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attn/view.h"

namespace attn::test {

enum class Layout : std::uint8_t {
  dense,       // [B, H, N, D]
  transposed,  // [B, N, H, D] in memory, as a projection writes it
  sliced,      // every row is part of a longer one, at an odd offset; gaps hold NaN
  reversed,    // the last batch first: a negative stride
  shared,      // one batch seen B times: stride 0
};

const char* name_of(Layout layout) noexcept;
const char* name_of(Type type) noexcept;

// Four axes, any element type. Filled with NaN, so that reading between the rows spoils the result.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(const Shape<4>& shape, Type type = Type::float32, Layout layout = Layout::dense);

  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(Tensor&&) noexcept = default;
  Tensor(const Tensor&) = delete;  // its views would point to the original
  Tensor& operator=(const Tensor&) = delete;

  // Element `index`, counted in a dense array of this shape, becomes factor * bell(seed, index), rounded to the type.
  Tensor& fill(std::uint64_t seed, float factor = 1);
  Tensor& fill_with(float value);

  [[nodiscard]] float get(const Shape<4>& at) const;
  void set(const Shape<4>& at, float value);

  [[nodiscard]] AnyView<4> view() const noexcept;
  [[nodiscard]] View<float, 4> floats() noexcept;  // of a float32 tensor
  [[nodiscard]] View<const float, 4> floats() const noexcept;
  [[nodiscard]] const Shape<4>& shape() const noexcept { return shape_; }

  // Every byte, gaps included, to see whether anything has been written.
  [[nodiscard]] const std::vector<std::byte>& bytes() const noexcept { return bytes_; }
  // The number of elements outside the view that are no longer NaN.
  [[nodiscard]] std::int64_t spoiled() const;

 private:
  Shape<4> shape_{};
  Shape<4> strides_{};
  std::int64_t origin_ = 0;  // element at index 0, 0, 0, 0
  Type type_ = Type::float32;
  std::vector<std::byte> bytes_;
};

// One element of a view of any type.
float element(const AnyView<4>& view, const Shape<4>& at);

// The part [first, first + count) of one axis.
AnyView<4> part(AnyView<4> view, std::size_t axis, std::int64_t first, std::int64_t count);

// Calls f(at) for every index of a shape, the last axis moving fastest.
template <typename F>
void each(const Shape<4>& shape, F&& f) {
  Shape<4> at{};
  for (at[0] = 0; at[0] < shape[0]; ++at[0])
    for (at[1] = 0; at[1] < shape[1]; ++at[1])
      for (at[2] = 0; at[2] < shape[2]; ++at[2])
        for (at[3] = 0; at[3] < shape[3]; ++at[3]) f(at);
}

}  // namespace attn::test
