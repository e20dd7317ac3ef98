// engine/kernels/attention/forward_block-inl.h - what the two forward kernels share: queries in, rows out.
#if defined(ATTN_KERNELS_BLOCK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_KERNELS_BLOCK_INL_H_
#undef ATTN_KERNELS_BLOCK_INL_H_
#else
#define ATTN_KERNELS_BLOCK_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>

#include <cmath>

#include "engine/kernels/attention/forward.h"
#include "engine/kernels/rows/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

// Rows [row, row + rows) of the block, scaled; zeros up to a whole number of register tiles.
HWY_INLINE void load_queries(const Forward& t, std::int64_t row, std::int64_t rows, float* q) {
  for (std::int64_t r = 0; r < rows; ++r) {
    scale_row(t.q, t.first + row + r, t.width, t.scoring.q_scale, q + r * kQueryStride);
  }
  for (std::int64_t r = rows; r < round_up(rows, kRows); ++r) std::fill_n(q + r * kQueryStride, t.width, 0.0F);
}

// clean: kChunk rows of scratch.
HWY_INLINE Values values_of(const Forward& t, float* clean) {
  return {t.values.data,
          t.values.stride,
          t.values.column_step,
          round_up(t.value_width, lanes_of_float()),
          t.origin,
          t.not_finite,
          clean};
}
HWY_INLINE Keys keys_of(const Forward& t) { return {t.keys, t.width, t.origin}; }

// What the sums of a row come to.
struct Outcome {
  float factor = 0;    // turns exp2(score - base) into a weight; 0 for a row that saw nothing
  float top = kNever;  // lse = log(2^top total)
  float total = 1;
};

// log(2^top total), natural. A total that is NaN gives NaN.
HWY_INLINE Vec lse_of(Vec top, Vec total) {
  const F f;
  const Vec log2 = hn::Add(hn::Log2(f, total), hn::Sub(total, total));
  return hn::Mul(hn::Set(f, kLn2), hn::Add(top, log2));
}
HWY_INLINE float lse_of(const Outcome& outcome) {
  return hn::GetLane(lse_of(hn::Set(F(), outcome.top), hn::Set(F(), outcome.total)));
}

// sum is that of exp2(score - base) over all keys.
HWY_INLINE Outcome conclude(float sum, float base, float sink) {
  if (sum == 0) return {0.0F, sink};  // saw nothing, or only scores of -inf
  if (base == kNever) base = 0;       // all that it saw was NaN
  if (sink == kNever) return {1 / sum, base, sum};
  const float top = std::max(base, sink);
  const float share = exp2_of(base - top);
  const float total = sum * share + exp2_of(sink - top);
  return {share / total, top, total};
}

// out = factor o. With a factor of 0, o may never have been written.
HWY_INLINE void write_row(const Forward& t, std::int64_t i, const float* HWY_RESTRICT o, float factor) {
  float* out = t.out + i * t.out_stride;
  if (factor == 0) {
    std::fill_n(out, t.value_width, 0.0F);
  } else {
    scale_row(o, t.value_width, factor * t.dropout.scale, out);
  }
}

// Calls step.run<R>(from, rows) for groups of rows of a tile, with the smallest register tile that holds them.
template <class Step>
HWY_INLINE void for_each_group(int rows_of_tile, const Step& step) {
  for (int from = 0; from < rows_of_tile; from += kRows) {
    const int rows = std::min(kRows, rows_of_tile - from);
    if (rows > kRows * 2 / 3) {
      step.template run<kRows>(from, rows);
    } else if (rows > kRows / 3) {
      step.template run<kRows * 2 / 3>(from, rows);
    } else {
      step.template run<kRows / 3>(from, rows);
    }
  }
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
