// engine/kernels/attention/pack.cc - transposes keys into panels and copies values as floats into columns (see pack.h).
//
// For the product q k^T the register tile wants vectors that run over keys, but a row of K runs over D. So four numbers
// of `lanes` keys at a time are transposed in registers: loads of 4 numbers per key, then two rounds of interleaving.
// Values are read along a row already; they are only widened, and checked for infinities and NaN on the way.
#include "engine/kernels/attention/pack.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/kernels/attention/pack.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "engine/kernels/common/register_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

// Four numbers of every fourth row: block b of the vector holds from[4 b stride ... + 3].
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const float* from, std::int64_t stride) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    const auto high = static_cast<std::int64_t>(hn::Lanes(half));  // rows in the lower half
    return hn::Combine(d, load_blocks(half, from + high * stride, stride), load_blocks(half, from, stride));
  }
}

// to[d, r] = from[r, d] for a vector of rows r and all d < width; rows of `to` are 2 vectors apart.
HWY_INLINE void transpose_rows(const float* HWY_RESTRICT from, std::int64_t stride, std::int64_t width,
                               float* HWY_RESTRICT to) {
  const F f;
  const hn::Repartition<double, F> pairs;
  const std::int64_t lanes = lanes_of_float();
  const std::int64_t step = 2 * lanes;
  std::int64_t d = 0;
  for (; d + 4 <= width; d += 4) {
    const Vec r0 = load_blocks(f, from + d, stride);
    const Vec r1 = load_blocks(f, from + d + stride, stride);
    const Vec r2 = load_blocks(f, from + d + 2 * stride, stride);
    const Vec r3 = load_blocks(f, from + d + 3 * stride, stride);
    const auto a = hn::BitCast(pairs, hn::InterleaveLower(f, r0, r1));  // rows 0 1, columns 0 1
    const auto b = hn::BitCast(pairs, hn::InterleaveLower(f, r2, r3));
    const auto c = hn::BitCast(pairs, hn::InterleaveUpper(f, r0, r1));  // columns 2 3
    const auto e = hn::BitCast(pairs, hn::InterleaveUpper(f, r2, r3));
    hn::Store(hn::BitCast(f, hn::InterleaveLower(pairs, a, b)), f, to + d * step);
    hn::Store(hn::BitCast(f, hn::InterleaveUpper(pairs, a, b)), f, to + (d + 1) * step);
    hn::Store(hn::BitCast(f, hn::InterleaveLower(pairs, c, e)), f, to + (d + 2) * step);
    hn::Store(hn::BitCast(f, hn::InterleaveUpper(pairs, c, e)), f, to + (d + 3) * step);
  }
  for (; d < width; ++d) {
    for (std::int64_t r = 0; r < lanes; ++r) to[d * step + r] = from[r * stride + d];
  }
}

void pack_keys_of(const PackKeys& t) {
  const std::int64_t lanes = lanes_of_float();
  const std::int64_t panel = 2 * lanes;
  HWY_ALIGN float copy[HWY_MAX_BYTES / sizeof(float) * kMaxWidth];
  const std::int64_t end = t.first + t.count;
  for (std::int64_t key = t.first; key < end; key += lanes) {
    float* to = t.panels + key / panel * panel * t.width + key % panel;
    if (t.k.type == Element::float32 && key + lanes <= end) {
      transpose_rows(static_cast<const float*>(t.k.data) + key * t.k.stride, t.k.stride, t.width, to);
      continue;
    }
    for (std::int64_t r = 0; r < lanes; ++r) {
      if (key + r < end) {
        scale_row(t.k, key + r, t.width, 1.0F, copy + r * t.width);
      } else {
        std::fill_n(copy + r * t.width, t.width, 0.0F);
      }
    }
    transpose_rows(copy, t.width, t.width, to);
  }
}

// zeros is a sum of x * 0, which is 0 unless some x is infinite or NaN.
HWY_INLINE bool is_not_zero(Vec zeros) {
  const float sum = hn::GetLane(hn::SumOfLanes(F(), zeros));
  return sum != 0 || sum != sum;
}

// Copies the first two vectors of a row; pads with zeros if the row is shorter.
template <typename T>
HWY_INLINE void copy_columns(const T* from, std::int64_t width, float* to) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  if (width >= 2 * lanes) {
    hn::Store(load_as_float(from), f, to);
    hn::Store(load_as_float(from + lanes), f, to + lanes);
    return;
  }
  scale_row(from, width, 1.0F, to);
  std::fill(to + width, to + 2 * lanes, 0.0F);
}

template <typename T>
HWY_INLINE bool pack_values_as(const PackValues& t) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  const std::int64_t panel = 2 * lanes;
  bool any = false;
  for (std::int64_t key = t.first; key < t.first + t.count; key += kTileKeys) {
    Vec zeros = hn::Zero(f);
    for (std::int64_t row = key; row < std::min(key + kTileKeys, t.first + t.count); ++row) {
      const T* from = static_cast<const T*>(t.v.data) + row * t.v.stride;
      float* to = t.to + row * panel;
      for (std::int64_t e = 0; e < t.width; e += panel, to += t.keys * panel) {
        copy_columns(from + e, t.width - e, to);
        zeros = hn::MulAdd(hn::Load(f, to), hn::Zero(f), zeros);
        zeros = hn::MulAdd(hn::Load(f, to + lanes), hn::Zero(f), zeros);
      }
    }
    const bool found = is_not_zero(zeros);
    if (t.flags != nullptr) t.flags[key / kTileKeys] = found ? 1 : 0;
    any = any || found;
  }
  return any;
}

bool pack_values_of(const PackValues& t) {
  switch (t.v.type) {
    case Element::float32:
      return pack_values_as<float>(t);
    case Element::float16:
      return pack_values_as<hwy::float16_t>(t);
    case Element::bfloat16:
      return pack_values_as<hwy::bfloat16_t>(t);
  }
  return false;
}

bool find_not_finite_in(const PackValues& t) {
  const F f;
  bool any = false;
  for (std::int64_t key = t.first; key < t.first + t.count; key += kTileKeys) {
    Vec zeros = hn::Zero(f);
    for (std::int64_t row = key; row < std::min(key + kTileKeys, t.first + t.count); ++row) {
      const float* from = static_cast<const float*>(t.v.data) + row * t.v.stride;
      for (std::int64_t e = 0; e < t.width; e += lanes_of_float()) {
        zeros = hn::MulAdd(hn::LoadU(f, from + e), hn::Zero(f), zeros);
      }
    }
    const bool found = is_not_zero(zeros);
    t.flags[key / kTileKeys] = found ? 1 : 0;
    any = any || found;
  }
  return any;
}

std::int64_t count_lanes() { return lanes_of_float(); }

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {
HWY_EXPORT(count_lanes);
HWY_EXPORT(pack_keys_of);
HWY_EXPORT(pack_values_of);
HWY_EXPORT(find_not_finite_in);

std::int64_t lanes() noexcept { return HWY_DYNAMIC_DISPATCH(count_lanes)(); }

std::int64_t panel_floats(std::int64_t keys, std::int64_t width) noexcept {
  const std::int64_t panel = 2 * lanes();
  return (keys + panel - 1) / panel * panel * width;
}
std::int64_t value_floats(std::int64_t keys, std::int64_t width) noexcept {
  const std::int64_t panel = 2 * lanes();
  return (width + panel - 1) / panel * panel * keys;
}
bool values_are_ready(const Rows& v, std::int64_t width) noexcept {
  return v.type == Element::float32 && width % lanes() == 0;
}
ValueLayout packed_layout(const float* values, std::int64_t keys) noexcept {
  return {values, 2 * lanes(), 2 * lanes() * keys};
}
ValueLayout ready_layout(const Rows& v) noexcept { return {static_cast<const float*>(v.data), v.stride, 2 * lanes()}; }

void pack_keys(const PackKeys& task) noexcept { HWY_DYNAMIC_DISPATCH(pack_keys_of)(task); }
bool pack_values(const PackValues& task) noexcept { return HWY_DYNAMIC_DISPATCH(pack_values_of)(task); }
bool find_not_finite(const PackValues& task) noexcept { return HWY_DYNAMIC_DISPATCH(find_not_finite_in)(task); }
}  // namespace attn::kernels
#endif
