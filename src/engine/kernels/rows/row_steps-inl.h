// engine/kernels/rows/row_steps-inl.h - steps on rows of any length: partial vectors at the end, sums, moments.
#if defined(ATTN_ENGINE_KERNELS_ROWS_ROW_STEPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_ENGINE_KERNELS_ROWS_ROW_STEPS_INL_H_
#undef ATTN_ENGINE_KERNELS_ROWS_ROW_STEPS_INL_H_
#else
#define ATTN_ENGINE_KERNELS_ROWS_ROW_STEPS_INL_H_
#endif

#include <cstring>

#include "engine/kernels/common/register_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

// The last n numbers of a row, fewer than a vector and at any alignment, as floats; the other lanes are 0.
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

// Four partial sums, so that no addition waits for the previous one.
struct FourSums {
  Vec at[4];

  HWY_INLINE FourSums() {
    for (Vec& sum : at) sum = hn::Zero(F());
  }
  HWY_INLINE float total() const {
    return hn::GetLane(hn::SumOfLanes(F(), hn::Add(hn::Add(at[0], at[1]), hn::Add(at[2], at[3]))));
  }
};

// Calls step(n, x, real) for every vector of the row. n cycles through 0 ... 3, to choose one of FourSums. `real` is
// the number of lanes that belong to the row: all of them, except in the last vector, where the others are 0.
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
  float mean = 0, correction = 0;  // mean + correction is the mean to more digits than one float holds
  float square = 0;                // mean of (x - mean)^2
};

// Takes the variance about the rounded mean, then corrects both by the sum of the differences.
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

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
