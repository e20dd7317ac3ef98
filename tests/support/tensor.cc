// support/tensor.cc
#include "tests/support/tensor.h"

#include <cstring>
#include <limits>

#include "tests/support/random.h"

namespace attn::test {
namespace {

constexpr std::int64_t kGap = 3;  // elements between the rows of a sliced tensor

float load(const std::byte* from, Type type) {
  if (type == Type::float32) {
    float x = 0;
    std::memcpy(&x, from, sizeof x);
    return x;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, from, sizeof bits);
  return type == Type::float16 ? to_float(Half{bits}) : to_float(Bfloat{bits});
}

void store(std::byte* to, Type type, float value) {
  if (type == Type::float32) {
    std::memcpy(to, &value, sizeof value);
    return;
  }
  const std::uint16_t bits = type == Type::float16 ? to_half(value).bits : to_bfloat(value).bits;
  std::memcpy(to, &bits, sizeof bits);
}

std::int64_t offset_of(const Shape<4>& strides, const Shape<4>& at) {
  return at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2] + at[3] * strides[3];
}

}  // namespace

const char* name_of(Layout layout) noexcept {
  switch (layout) {
    case Layout::dense:
      return "dense";
    case Layout::transposed:
      return "transposed";
    case Layout::sliced:
      return "sliced";
    case Layout::reversed:
      return "reversed";
    case Layout::shared:
      return "shared";
  }
  return "?";
}

const char* name_of(Type type) noexcept {
  return type == Type::float32 ? "float32" : type == Type::float16 ? "float16" : "bfloat16";
}

Tensor::Tensor(const Shape<4>& shape, Type type, Layout layout)
    : shape_(shape), strides_(dense_strides(shape)), type_(type) {
  const auto [b, h, n, d] = shape;
  std::int64_t elements = b * h * n * d;
  switch (layout) {
    case Layout::dense:
      break;
    case Layout::transposed:
      strides_ = {n * h * d, d, h * d, 1};
      break;
    case Layout::sliced:
      strides_ = dense_strides(Shape<4>{b, h, n, d + kGap});
      origin_ = 1;
      elements = b * h * n * (d + kGap);
      break;
    case Layout::reversed:
      origin_ = b > 0 ? (b - 1) * strides_[0] : 0;
      strides_[0] = -strides_[0];
      break;
    case Layout::shared:
      strides_[0] = 0;
      elements = h * n * d;
      break;
  }
  bytes_.resize(static_cast<std::size_t>(elements) * size_of(type));
  for (std::int64_t e = 0; e < elements; ++e)
    store(bytes_.data() + e * static_cast<std::int64_t>(size_of(type)), type, std::numeric_limits<float>::quiet_NaN());
}

Tensor& Tensor::fill(std::uint64_t seed, float factor) {
  std::uint64_t index = 0;
  each(shape_, [&](const Shape<4>& at) { set(at, factor * bell(seed, index++)); });
  return *this;
}

Tensor& Tensor::fill_with(float value) {
  each(shape_, [&](const Shape<4>& at) { set(at, value); });
  return *this;
}

float Tensor::get(const Shape<4>& at) const { return element(view(), at); }

void Tensor::set(const Shape<4>& at, float value) {
  store(bytes_.data() + (origin_ + offset_of(strides_, at)) * static_cast<std::int64_t>(size_of(type_)), type_, value);
}

AnyView<4> Tensor::view() const noexcept {
  return {bytes_.data() + origin_ * static_cast<std::int64_t>(size_of(type_)), type_, shape_, strides_};
}

View<float, 4> Tensor::floats() noexcept {
  return {reinterpret_cast<float*>(bytes_.data()) + origin_, shape_, strides_};
}

View<const float, 4> Tensor::floats() const noexcept {
  return {reinterpret_cast<const float*>(bytes_.data()) + origin_, shape_, strides_};
}

std::int64_t Tensor::spoiled() const {
  const auto elements = bytes_.size() / size_of(type_);
  std::vector<bool> inside(elements);
  each(shape_, [&](const Shape<4>& at) { inside[static_cast<std::size_t>(origin_ + offset_of(strides_, at))] = true; });
  std::int64_t count = 0;
  for (std::size_t e = 0; e < elements; ++e) {
    const float x = load(bytes_.data() + e * size_of(type_), type_);
    if (!inside[e] && x == x) ++count;
  }
  return count;
}

float element(const AnyView<4>& view, const Shape<4>& at) {
  const auto* data = static_cast<const std::byte*>(view.data);
  return load(data + offset_of(view.strides, at) * static_cast<std::int64_t>(size_of(view.type)), view.type);
}

AnyView<4> part(AnyView<4> view, std::size_t axis, std::int64_t first, std::int64_t count) {
  view.data = static_cast<const std::byte*>(view.data) +
              first * view.strides[axis] * static_cast<std::int64_t>(size_of(view.type));
  view.shape[axis] = count;
  return view;
}

}  // namespace attn::test
