// engine/kernels/common/register_tile-inl.h - the register tile that every product is made of, exp2, tanh, and small
// steps on vectors.
//
//   c[r][v] += sum_k a[r,k] b[k][v]      R rows by NV vectors of columns, held in R x NV registers
//
// For every k, the tile loads NV vectors of b and broadcasts R numbers of a; each pair gives one fused multiply-add. So
// 12 x 2 needs 14 loads for 24 multiply-adds, and 6 x 2 needs 8 for 12. A core that can start two loads and two
// multiply-adds per cycle then waits for arithmetic, not for loads. The 12 or 24 sums are independent, which is enough
// to hide the latency of 4 or 5 cycles of two units.
//
// The height follows from the number of vector registers. R x NV sums, NV vectors of b and one number of a must fit:
// 24 + 2 + 1 of 32 (AVX-512, NEON), or 12 + 2 + 1 of 16 (AVX2, SSE4). WebAssembly has no multiply-add, so a product
// needs a register of its own, and its compiler keeps one back: 8 + 2 + 1 + 1 of 15. NV is 2 in nearly every product;
// 1 serves the last columns.
//
// Memory. b must offer vectors side by side: that is why keys, values and weights are packed into "panels" two vectors
// wide. a is read number by number: along a row (add_product) or down a column (add_transposed). Loops over r and v are
// unrolled completely, so that the array `at` lives in registers.
//
// This file is compiled once per instruction set: Highway's foreach_target.h includes every kernel again for each
// target, HWY_NAMESPACE keeps the copies apart, and HWY_DYNAMIC_DISPATCH picks one when the program runs. That is also
// why the include guard below toggles. Vec has as many lanes as the target offers: 4, 8 or 16 floats.
#if defined(ATTN_ENGINE_KERNELS_COMMON_REGISTER_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_ENGINE_KERNELS_COMMON_REGISTER_TILE_INL_H_
#undef ATTN_ENGINE_KERNELS_COMMON_REGISTER_TILE_INL_H_
#else
#define ATTN_ENGINE_KERNELS_COMMON_REGISTER_TILE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "engine/kernels/common/plain.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using I = hn::RebindToSigned<F>;
using U = hn::RebindToUnsigned<F>;
using Vec = hn::Vec<F>;

// Rows of the largest register tile: 24 sums in 32 registers, or 12 in 16.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
inline constexpr int kRows = 12;
#elif HWY_TARGET == HWY_WASM
inline constexpr int kRows = 4;
#else
inline constexpr int kRows = 6;
#endif
static_assert(kTileRows % kRows == 0);

#if HWY_TARGET == HWY_WASM
// LLVM gathers what an unrolled loop adds to one sum, so that four steps keep 8 vectors of b and 4 numbers of a in
// registers beside all sums. Measured in V8, D 64: 6 rows by 4 steps are at 0.95 of native SSE4 (products at 0.73),
// 6 by 1 at 0.75, 4 by 2 at 0.78, 4 by 1 at 1.05 (products at 1.08).
inline constexpr int kStepsUnrolled = 1;
// There is no such instruction; loops around it would remain.
inline constexpr bool kCanPrefetch = false;
#else
inline constexpr int kStepsUnrolled = 4;
inline constexpr bool kCanPrefetch = true;
#endif

HWY_INLINE std::int64_t lanes_of_float() { return static_cast<std::int64_t>(hn::Lanes(F())); }
HWY_INLINE std::int64_t round_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

HWY_INLINE Vec load_as_float(const float* p) { return hn::LoadU(F(), p); }
HWY_INLINE Vec load_as_float(const hwy::float16_t* p) {
  const Vec x = hn::PromoteTo(F(), hn::LoadU(hn::Rebind<hwy::float16_t, F>(), p));
#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_WASM
  // Without an instruction for it, Highway turns infinity and NaN into numbers from 2^16 on, which halves do not have.
  const Vec beyond = hn::BitCast(F(), hn::Set(U(), 0x7F800000U));
  return hn::IfThenElse(hn::Ge(hn::Abs(x), hn::Set(F(), 65536.0F)), hn::Or(x, beyond), x);
#else
  return x;
#endif
}
HWY_INLINE Vec load_as_float(const hwy::bfloat16_t* p) {
  return hn::PromoteTo(F(), hn::LoadU(hn::Rebind<hwy::bfloat16_t, F>(), p));
}

template <int R, int NV>
struct Accumulators {
  Vec at[R][NV];

  HWY_INLINE void clear() {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) at[r][v] = hn::Zero(F());
  }
  HWY_INLINE void load(const float* HWY_RESTRICT c, std::int64_t stride) {
    const std::int64_t lanes = lanes_of_float();
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) at[r][v] = hn::LoadU(F(), c + r * stride + v * lanes);
  }
  HWY_INLINE void load_scaled(const float* HWY_RESTRICT c, std::int64_t stride, const float* HWY_RESTRICT scale) {
    const std::int64_t lanes = lanes_of_float();
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const Vec factor = hn::Set(F(), scale[r]);
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) at[r][v] = hn::Mul(factor, hn::LoadU(F(), c + r * stride + v * lanes));
    }
  }
  HWY_INLINE void store(float* HWY_RESTRICT c, std::int64_t stride) const {
    const std::int64_t lanes = lanes_of_float();
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) hn::StoreU(at[r][v], F(), c + r * stride + v * lanes);
  }

  // at[r] += sum_k a[r, k] b[k]. Rows of a are kStrideA apart, rows of b stride_b. 98% of the FMA peak with g++ 12.
  template <int kStrideA, typename T>
  HWY_INLINE void add_product(const float* HWY_RESTRICT a, const T* HWY_RESTRICT b, std::int64_t stride_b,
                              std::int64_t depth) {
    add_strided<kStrideA, 1>(a, b, stride_b, depth, 1);
  }
  // at[r] += sum_k a[k, r] b[k]. Rows of a are stride_a apart.
  HWY_INLINE void add_transposed(const float* HWY_RESTRICT a, std::int64_t stride_a, const float* HWY_RESTRICT b,
                                 std::int64_t stride_b, std::int64_t depth) {
    add_strided<1, 0>(a, b, stride_b, depth, stride_a);
  }

 private:
  template <int kStrideRow, int kUnitStep, typename T>
  HWY_INLINE void add_strided(const float* HWY_RESTRICT a, const T* HWY_RESTRICT b, std::int64_t stride_b,
                              std::int64_t depth, std::int64_t step) {
    const std::int64_t lanes = lanes_of_float();
#pragma GCC unroll kStepsUnrolled
    for (std::int64_t k = 0; k < depth; ++k) {
      Vec y[NV];
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) y[v] = load_as_float(b + v * lanes);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const Vec x = hn::Set(F(), a[r * kStrideRow]);
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) at[r][v] = hn::MulAdd(x, y[v], at[r][v]);
      }
      a += kUnitStep ? 1 : step;
      b += stride_b;
    }
  }
};

// 2^t for t < 127. Max error 3 ULP for t >= -126; exactly 0 at and below -127 (so also for -inf), something between 0
// and 2^-126 in the gap; NaN gives NaN (if the low nine bits are 0, as in every NaN that arithmetic makes). The
// polynomial is the best one of degree 5 on [-1/2, 1/2] with p(0) = 1: the 1 makes the zero exact.
HWY_INLINE Vec exp2_of(Vec t) {
  const F f;
  const I i;
  const Vec magic = hn::Set(f, 12582912.0F);  // 1.5 2^23: adding it rounds to an integer
  t = hn::Max(hn::Set(f, -127.0F), t);        // this order: x86 returns the second operand if one is NaN
  const Vec shifted = hn::Add(t, magic);
  const Vec x = hn::Sub(t, hn::Sub(shifted, magic));
  Vec p = hn::MulAdd(x, hn::Set(f, 0.001326472731307149F), hn::Set(f, 0.009671512991189957F));
  p = hn::MulAdd(p, x, hn::Set(f, 0.05550733581185341F));
  p = hn::MulAdd(p, x, hn::Set(f, 0.24022242426872253F));
  p = hn::MulAdd(p, x, hn::Set(f, 0.6931470036506653F));
  p = hn::MulAdd(p, x, hn::Set(f, 1.0F));
  return hn::BitCast(f, hn::Add(hn::BitCast(i, p), hn::ShiftLeft<23>(hn::BitCast(i, shifted))));
}

HWY_INLINE float exp2_of(float t) { return hn::GetLane(exp2_of(hn::Set(F(), t))); }

// Max error 7 ULP (5 where there is FMA); NaN gives NaN. The rational approximation that Eigen and XLA use.
HWY_INLINE Vec tanh_of(Vec x) {
  const F f;
  const Vec bound = hn::Set(f, 7.90531110763549805F);  // tanh is 1 in float beyond
  x = hn::Min(bound, hn::Max(hn::Neg(bound), x));
  const Vec x2 = hn::Mul(x, x);
  Vec p = hn::MulAdd(x2, hn::Set(f, -2.76076847742355e-16F), hn::Set(f, 2.00018790482477e-13F));
  p = hn::MulAdd(p, x2, hn::Set(f, -8.60467152213735e-11F));
  p = hn::MulAdd(p, x2, hn::Set(f, 5.12229709037114e-08F));
  p = hn::MulAdd(p, x2, hn::Set(f, 1.48572235717979e-05F));
  p = hn::MulAdd(p, x2, hn::Set(f, 6.37261928875436e-04F));
  p = hn::MulAdd(p, x2, hn::Set(f, 4.89352455891786e-03F));
  Vec q = hn::MulAdd(x2, hn::Set(f, 1.19825839466702e-06F), hn::Set(f, 1.18534705686654e-04F));
  q = hn::MulAdd(q, x2, hn::Set(f, 2.26843463243900e-03F));
  q = hn::MulAdd(q, x2, hn::Set(f, 4.89352518554385e-03F));
  return hn::Div(hn::Mul(x, p), q);
}

struct Sum {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Add(a, b);
  }
};

struct Larger {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Max(a, b);
  }
};

// reduce_four: to[n] = op over all lanes of x[n], n = 0 ... 3. reduce_blocks folds a vector into its first four lanes.
template <class D, class Op>
HWY_INLINE hn::Vec<hn::CappedTag<float, 4>> reduce_blocks(D /*d*/, hn::Vec<D> x, const Op& op) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return x;
  } else {
    const hn::Half<D> half;
    return reduce_blocks(half, op(hn::LowerHalf(half, x), hn::UpperHalf(half, x)), op);
  }
}
template <class Op>
HWY_INLINE void reduce_four(const Vec* x, float* to, const Op& op) {
  const F f;
  const hn::Repartition<double, F> pairs;
  const Vec ab = op(hn::InterleaveLower(f, x[0], x[1]), hn::InterleaveUpper(f, x[0], x[1]));
  const Vec cd = op(hn::InterleaveLower(f, x[2], x[3]), hn::InterleaveUpper(f, x[2], x[3]));
  const auto low = hn::InterleaveLower(pairs, hn::BitCast(pairs, ab), hn::BitCast(pairs, cd));
  const auto high = hn::InterleaveUpper(pairs, hn::BitCast(pairs, ab), hn::BitCast(pairs, cd));
  hn::StoreU(reduce_blocks(f, op(hn::BitCast(f, low), hn::BitCast(f, high)), op), hn::CappedTag<float, 4>(), to);
}

HWY_INLINE float one_as_float(float x) { return x; }
HWY_INLINE float one_as_float(const hwy::float16_t& x) {
  hwy::float16_t copies[HWY_MAX_BYTES / sizeof(float)] = {x};
  return hn::GetLane(load_as_float(copies));
}
HWY_INLINE float one_as_float(hwy::bfloat16_t x) { return hwy::F32FromBF16(x); }

// to[0, width) = factor from[0, width)
template <typename T>
HWY_INLINE void scale_row(const T* HWY_RESTRICT from, std::int64_t width, float factor, float* HWY_RESTRICT to) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  const Vec scale = hn::Set(f, factor);
  std::int64_t d = 0;
  for (; d + lanes <= width; d += lanes) hn::StoreU(hn::Mul(scale, load_as_float(from + d)), f, to + d);
  for (; d < width; ++d) to[d] = factor * one_as_float(from[d]);
}

HWY_INLINE void scale_row(const Rows& rows, std::int64_t row, std::int64_t width, float factor, float* to) {
  const std::int64_t at = row * rows.stride;
  switch (rows.type) {
    case Element::float32:
      return scale_row(static_cast<const float*>(rows.data) + at, width, factor, to);
    case Element::float16:
      return scale_row(static_cast<const hwy::float16_t*>(rows.data) + at, width, factor, to);
    case Element::bfloat16:
      return scale_row(static_cast<const hwy::bfloat16_t*>(rows.data) + at, width, factor, to);
  }
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
