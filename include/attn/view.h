// attn/view.h - strided, non-owning views of arrays.
//
// A View owns nothing and copies nothing. Its last axis is dense; any other axis may have any stride, including 0 (the
// same numbers repeated) and negative ones. Strides count elements, not bytes.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace attn {

// IEEE binary16 and bfloat16, as files and accelerators hold them. No arithmetic: the engine computes in float.
struct Half {
  std::uint16_t bits = 0;
};
struct Bfloat {
  std::uint16_t bits = 0;
};

float to_float(Half x) noexcept;
Half to_half(float x) noexcept;  // rounds to nearest, ties to even; beyond 65,504 to infinity

inline float to_float(Bfloat x) noexcept { return std::bit_cast<float>(std::uint32_t{x.bits} << 16); }
Bfloat to_bfloat(float x) noexcept;  // rounds to nearest, ties to even

enum class Type : std::uint8_t { float32, float16, bfloat16 };

// Bytes per element.
constexpr std::size_t size_of(Type type) noexcept { return type == Type::float32 ? 4 : 2; }

template <typename T>
inline constexpr bool is_element = std::is_same_v<T, float> || std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>;

template <typename T>
  requires is_element<T>
inline constexpr Type type_of = std::is_same_v<T, float>  ? Type::float32
                                : std::is_same_v<T, Half> ? Type::float16
                                                          : Type::bfloat16;

template <std::size_t Rank>
using Shape = std::array<std::int64_t, Rank>;

// Strides of a dense array of this shape: the last axis moves fastest.
template <std::size_t Rank>
constexpr Shape<Rank> dense_strides(const Shape<Rank>& shape) noexcept {
  Shape<Rank> strides{};
  std::int64_t step = 1;
  for (std::size_t axis = Rank; axis-- > 0; step *= shape[axis]) strides[axis] = step;
  return strides;
}

template <typename T, std::size_t Rank>
struct View {
  static_assert(Rank >= 1);

  T* data = nullptr;
  Shape<Rank> shape{};
  Shape<Rank> strides{};  // the last one is 1

  constexpr View() noexcept = default;  // empty
  constexpr View(T* d, const Shape<Rank>& s) noexcept : data(d), shape(s), strides(dense_strides(s)) {}
  constexpr View(T* d, const Shape<Rank>& s, const Shape<Rank>& st) noexcept : data(d), shape(s), strides(st) {}

  // A view of T converts to a view of const T.
  template <typename U>
    requires std::is_same_v<const U, T>
  constexpr View(const View<U, Rank>& o) noexcept : data(o.data), shape(o.shape), strides(o.strides) {}  // NOLINT

  [[nodiscard]] constexpr bool empty() const noexcept { return data == nullptr; }
  [[nodiscard]] constexpr std::int64_t size() const noexcept {
    std::int64_t n = 1;
    for (auto s : shape) n *= s;
    return n;
  }

  // Address of the element at these indices; with fewer than Rank indices, of the first element of that slice.
  template <typename... I>
  constexpr T* at(I... index) const noexcept {
    static_assert(sizeof...(I) <= Rank);
    T* p = data;
    std::size_t axis = 0;
    ((p += static_cast<std::int64_t>(index) * strides[axis++]), ...);
    return p;
  }
  template <typename... I>
  constexpr T& operator()(I... index) const noexcept {
    static_assert(sizeof...(I) == Rank);
    return *at(index...);
  }
};

// A read-only View whose element type is known only at run time.
template <std::size_t Rank>
struct AnyView {
  const void* data = nullptr;
  Type type = Type::float32;
  Shape<Rank> shape{};
  Shape<Rank> strides{};

  constexpr AnyView() noexcept = default;
  constexpr AnyView(const void* d, Type t, const Shape<Rank>& s, const Shape<Rank>& st) noexcept
      : data(d), type(t), shape(s), strides(st) {}
  template <typename T>
    requires is_element<std::remove_const_t<T>>
  constexpr AnyView(const View<T, Rank>& o) noexcept  // NOLINT
      : data(o.data), type(type_of<std::remove_const_t<T>>), shape(o.shape), strides(o.strides) {}

  [[nodiscard]] constexpr bool empty() const noexcept { return data == nullptr; }
};

}  // namespace attn
