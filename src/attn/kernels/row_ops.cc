// kernels/row_ops.cc - see row_ops.h. Everything here is bound by memory, or nearly so.
#include "kernels/row_ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/row_ops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>
#include <cstring>

#include "kernels/activation-inl.h"
#include "kernels/denormals.h"
#include "kernels/micro-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

// The last numbers of a row, fewer than a vector and aligned anyhow, as floats; the other lanes are 0.
template <typename T>
HWY_INLINE Vec load_rest(const T* from, std::int64_t n) {
  HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(float)];
  std::memset(static_cast<void*>(buffer), 0, sizeof(buffer));
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(from);  // as a T* it would promise alignment
  std::memcpy(static_cast<void*>(buffer), bytes, static_cast<std::size_t>(n) * sizeof(T));
  return load_as_float(buffer);
}
HWY_INLINE void store_first(Vec x, std::int64_t n, float* to) {
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(x, F(), buffer);
  std::memcpy(to, buffer, static_cast<std::size_t>(n) * sizeof(float));
}

template <Activation kFunction>
HWY_INLINE void activate_row(float* x, std::int64_t width) {
  const std::int64_t lanes = lanes_of_float();
  std::int64_t d = 0;
  for (; d + lanes <= width; d += lanes) hn::StoreU(activated<kFunction>(hn::LoadU(F(), x + d)), F(), x + d);
  if (d < width) store_first(activated<kFunction>(load_rest(x + d, width - d)), width - d, x + d);
}

template <Activation kFunction>
HWY_INLINE void gate_row(float* x, const float* up, std::int64_t width) {
  const std::int64_t lanes = lanes_of_float();
  std::int64_t d = 0;
  for (; d + lanes <= width; d += lanes) {
    hn::StoreU(hn::Mul(activated<kFunction>(hn::LoadU(F(), x + d)), hn::LoadU(F(), up + d)), F(), x + d);
  }
  if (d < width) {
    const Vec y = activated<kFunction>(load_rest(x + d, width - d));
    store_first(hn::Mul(y, load_rest(up + d, width - d)), width - d, x + d);
  }
}

void activate_rows(const Activate& t) {
  const FlushDenormals guard;
  with_activation(t.function, [&]<Activation kFunction>() HWY_ATTR {
    for (std::int64_t r = 0; r < t.rows; ++r) {
      float* x = t.x.data + r * t.x.stride;
      if (t.up.data != nullptr) {
        gate_row<kFunction>(x, t.up.data + r * t.up.stride, t.width);
      } else {
        activate_row<kFunction>(x, t.width);
      }
    }
  });
}

// Four partial sums: no addition waits for the one before.
struct FourSums {
  Vec at[4];

  HWY_INLINE FourSums() {
    for (Vec& sum : at) sum = hn::Zero(F());
  }
  HWY_INLINE float total() const {
    return hn::GetLane(hn::SumOfLanes(F(), hn::Add(hn::Add(at[0], at[1]), hn::Add(at[2], at[3]))));
  }
};

// Calls step(n, x, real) for every vector of the row: n counts from 0 to 3 and round again; `real` is how many lanes
// are of the row, all but in the last vector, where the others are 0.
template <class Step>
HWY_INLINE void for_each_vector(const float* x, std::int64_t width, const Step& step) {
  const std::int64_t lanes = lanes_of_float();
  std::int64_t d = 0;
  for (; d + 4 * lanes <= width; d += 4 * lanes) {
#pragma GCC unroll 4
    for (int n = 0; n < 4; ++n) step(n, hn::LoadU(F(), x + d + n * lanes), lanes);
  }
  int n = 0;
  for (; d + lanes <= width; d += lanes, ++n) step(n, hn::LoadU(F(), x + d), lanes);
  if (d < width) step(3, load_rest(x + d, width - d), width - d);
}

HWY_INLINE float sum_of(const float* x, std::int64_t width) {
  FourSums sums;
  for_each_vector(x, width, [&](int n, Vec v, std::int64_t) HWY_ATTR { sums.at[n] = hn::Add(sums.at[n], v); });
  return sums.total();
}

struct Moments {
  float mean = 0, correction = 0;  // mean + correction is the mean to more digits than a float has
  float square = 0;                // mean of (x - mean)^2
};

// The variance is taken about the mean as first rounded, and both are corrected by what the differences add up to.
HWY_INLINE Moments moments_of(const float* x, std::int64_t width) {
  const F f;
  const auto count = static_cast<float>(width);
  Moments m;
  m.mean = sum_of(x, width) / count;
  const Vec mean = hn::Set(f, m.mean);
  FourSums sums, squares;
  for_each_vector(x, width, [&](int n, Vec v, std::int64_t real) HWY_ATTR {
    Vec d = hn::Sub(v, mean);
    if (real < lanes_of_float()) d = hn::IfThenElseZero(hn::FirstN(f, static_cast<std::size_t>(real)), d);
    sums.at[n] = hn::Add(sums.at[n], d);
    squares.at[n] = hn::MulAdd(d, d, squares.at[n]);
  });
  m.correction = sums.total() / count;
  m.square = squares.total() / count - m.correction * m.correction;
  return m;
}

HWY_INLINE Moments square_of(const float* x, std::int64_t width) {
  FourSums squares;
  for_each_vector(x, width,
                  [&](int n, Vec v, std::int64_t) HWY_ATTR { squares.at[n] = hn::MulAdd(v, v, squares.at[n]); });
  return {0, 0, squares.total() / static_cast<float>(width)};
}

// ((x - mean) - correction) factor weight + bias
struct Normalizer {
  Vec mean, correction, factor;

  HWY_INLINE Vec operator()(Vec x, Vec weight, Vec bias) const {
    return hn::MulAdd(hn::Mul(hn::Sub(hn::Sub(x, mean), correction), factor), weight, bias);
  }
};

HWY_INLINE void normalize_row(const Normalize& t, const float* x, float* out) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  const Moments m = t.centered ? moments_of(x, t.width) : square_of(x, t.width);
  const Normalizer apply{hn::Set(f, m.mean), hn::Set(f, m.correction), hn::Set(f, 1 / std::sqrt(m.square + t.epsilon))};
  std::int64_t d = 0;
  if (t.bias != nullptr) {
    for (; d + lanes <= t.width; d += lanes) {
      const Vec y = apply(hn::LoadU(f, x + d), hn::LoadU(f, t.weight + d), hn::LoadU(f, t.bias + d));
      hn::StoreU(y, f, out + d);
    }
  } else {
    for (; d + lanes <= t.width; d += lanes) {
      hn::StoreU(apply(hn::LoadU(f, x + d), hn::LoadU(f, t.weight + d), hn::Zero(f)), f, out + d);
    }
  }
  if (const std::int64_t rest = t.width - d; rest > 0) {
    const Vec bias = t.bias != nullptr ? load_rest(t.bias + d, rest) : hn::Zero(f);
    store_first(apply(load_rest(x + d, rest), load_rest(t.weight + d, rest), bias), rest, out + d);
  }
}

void normalize_rows(const Normalize& t) {
  const FlushDenormals guard;
  for (std::int64_t r = 0; r < t.rows; ++r) normalize_row(t, t.x.data + r * t.x.stride, t.out.data + r * t.out.stride);
}

template <bool kAdd, typename T>
HWY_INLINE void gather_row(const T* HWY_RESTRICT from, std::int64_t width, float* HWY_RESTRICT to) {
  const std::int64_t lanes = lanes_of_float();
  std::int64_t d = 0;
  for (; d + lanes <= width; d += lanes) {
    Vec x = load_as_float(from + d);
    if constexpr (kAdd) x = hn::Add(hn::LoadU(F(), to + d), x);
    hn::StoreU(x, F(), to + d);
  }
  if (const std::int64_t rest = width - d; rest > 0) {
    Vec x = load_rest(from + d, rest);
    if constexpr (kAdd) x = hn::Add(load_rest(to + d, rest), x);
    store_first(x, rest, to + d);
  }
}

template <typename T>
HWY_INLINE void gather_as(const Gather& t) {
  for (std::int64_t r = 0; r < t.rows; ++r) {
    const std::int64_t row = t.ids != nullptr ? t.ids[r] : r;
    const T* from = static_cast<const T*>(t.table.data) + row * t.table.stride;
    float* to = t.out.data + r * t.out.stride;
    if (t.add) {
      gather_row<true>(from, t.width, to);
    } else {
      gather_row<false>(from, t.width, to);
    }
  }
}

void gather_rows(const Gather& t) {
  switch (t.table.type) {
    case Element::float32:
      return gather_as<float>(t);
    case Element::float16:
      return gather_as<hwy::float16_t>(t);
    case Element::bfloat16:
      return gather_as<hwy::bfloat16_t>(t);
  }
}

}  // namespace
}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {
HWY_EXPORT(activate_rows);
HWY_EXPORT(normalize_rows);
HWY_EXPORT(gather_rows);

void activate(const Activate& task) noexcept { HWY_DYNAMIC_DISPATCH(activate_rows)(task); }
void normalize(const Normalize& task) noexcept { HWY_DYNAMIC_DISPATCH(normalize_rows)(task); }
void gather(const Gather& task) noexcept { HWY_DYNAMIC_DISPATCH(gather_rows)(task); }
}  // namespace attn::kernels
#endif
