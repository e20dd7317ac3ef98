// engine/kernels/attention/forward_block-inl.h - the first and last steps of a block of queries, shared by forward.cc,
// forward_with_weights.cc, decode.cc and rebuild.cc: loading q, finishing the softmax, writing out and lse.
#if defined(ATTN_ENGINE_KERNELS_ATTENTION_FORWARD_BLOCK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_ENGINE_KERNELS_ATTENTION_FORWARD_BLOCK_INL_H_
#undef ATTN_ENGINE_KERNELS_ATTENTION_FORWARD_BLOCK_INL_H_
#else
#define ATTN_ENGINE_KERNELS_ATTENTION_FORWARD_BLOCK_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>

#include <cmath>

#include "engine/kernels/attention/forward.h"
#include "engine/kernels/attention/softmax_steps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

// Loads rows [row, row + rows) of the block as floats, times q_scale; zeros up to a whole number of register tiles.
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

// The end of the softmax of a row.
struct Outcome {
  float factor = 0;    // turns exp2(score - base) into a weight; 0 for a row that saw nothing
  float top = kNever;  // lse = log(2^top total)
  float total = 1;
};

// The natural logarithm of 2^top total. A NaN total gives NaN.
HWY_INLINE Vec lse_of(Vec top, Vec total) {
  const F f;
  const Vec log2 = hn::Add(hn::Log2(f, total), hn::Sub(total, total));
  return hn::Mul(hn::Set(f, kLn2), hn::Add(top, log2));
}
HWY_INLINE float lse_of(const Outcome& outcome) {
  return hn::GetLane(lse_of(hn::Set(F(), outcome.top), hn::Set(F(), outcome.total)));
}

// sum is the sum of exp2(score - base) over all keys; sink is in units of log 2, kNever: none.
HWY_INLINE Outcome conclude(float sum, float base, float sink) {
  if (sum == 0) return {0.0F, sink};  // no key, or only scores of -inf
  if (base == kNever) base = 0;       // all scores were NaN
  if (sink == kNever) return {1 / sum, base, sum};
  const float top = std::max(base, sink);
  const float share = exp2_of(base - top);
  const float total = sum * share + exp2_of(sink - top);
  return {share / total, top, total};
}

// out = factor o. With a factor of 0, o may be uninitialised.
HWY_INLINE void write_row(const Forward& t, std::int64_t i, const float* HWY_RESTRICT o, float factor) {
  float* out = t.out + i * t.out_stride;
  if (factor == 0) {
    std::fill_n(out, t.value_width, 0.0F);
  } else {
    scale_row(o, t.value_width, factor * t.dropout.scale, out);
  }
}

// Calls step.run<R>(from, rows) for groups of rows of a tile. R is the smallest register tile that holds them.
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
