// engine/kernels/attention/decode.cc - a few queries against many keys, which are read once, where they lie.
//
//   out[r] = sum_j p[r,j] v[j]      p[r,:] = softmax of score[r,:]      r = head * queries + query
//
// While a model generates text, one new query per head meets the keys of all earlier tokens. Every number of K and V is
// used a few times only, so the kernel is bound by memory, not by arithmetic. Packing the keys as forward.cc does would
// read and write them once more than necessary. This kernel reads rows of K and V in place, in 32 or 16 bits. All query
// heads that share a key head go through together, so that each key is loaded once for all of them.
//
// Memory. Rows are copied to q [rows][kQueryStride], scaled. Per step there are scores s [rows][64]; per row the state
// of the online softmax (see forward.cc): base, sums [lanes] and o [rows][E padded]. The last columns of V that do not
// fill a vector are copied to `tail`, padded with zeros.
//
// Loop. A step takes 64 keys, whose K and V fit in the L1 cache:
//   score_keys   vectors along D: dot products of 4 keys by kDotRows rows, the lanes reduced four sums at a time
//   soften_step  biases, mask, softmax; rescales o when a base moves
//   add_values   vectors along E: o += s v by register tiles of kDotRows rows by kMaxVectors vectors
// Rows of K and V 16 keys ahead are prefetched while keys are multiplied, so that memory never pauses. At 262,144 keys
// this is as fast as merely reading K and V.
#include "engine/kernels/attention/decode.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/kernels/attention/decode.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/kernels/attention/forward_block-inl.h"
#include "engine/kernels/common/denormals.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

inline constexpr std::int64_t kStep = kTileKeys;         // keys per step: their K and V fit in the L1 cache
inline constexpr std::int64_t kAhead = 16;               // prefetch distance in keys: the best of 16 to 64
inline constexpr int kDotRows = kRows == 12 ? 4 : 2;     // rows at a time; by 4 keys: as many accumulators as fit
inline constexpr int kMaxVectors = kRows == 12 ? 4 : 2;  // vectors of a value at a time

struct DecodeState {
  float* q;     // [rows][kQueryStride]
  float* s;     // [rows][kStep]
  float* base;  // [rows]
  float* sum;   // [rows][lanes]
  float* o;     // [rows][E padded]
  float* tail;  // [kStep][lanes]: last columns of V that do not fill a vector
  std::int64_t rows;
  std::int64_t padded;  // E rounded up to whole vectors
};

std::int64_t decode_scratch_floats(std::int64_t rows, std::int64_t value_width) {
  const std::int64_t lanes = lanes_of_float();
  rows = round_up(rows, kDotRows);
  return rows * (kQueryStride + kStep + lanes + round_up(value_width, lanes)) + round_up(rows, 16) + kStep * lanes;
}

HWY_INLINE DecodeState lay_out(const Decode& t) {
  const std::int64_t lanes = lanes_of_float();
  DecodeState state{};
  state.rows = t.heads * t.queries;
  state.padded = round_up(t.value_width, lanes);
  const std::int64_t rows = round_up(state.rows, kDotRows);
  state.q = t.scratch;
  state.s = state.q + rows * kQueryStride;
  state.sum = state.s + rows * kStep;
  state.o = state.sum + rows * lanes;
  state.tail = state.o + rows * state.padded;
  state.base = state.tail + kStep * lanes;
  return state;
}

template <typename T>
HWY_INLINE const T* row_of(const Rows& rows, std::int64_t row) {
  return static_cast<const T*>(rows.data) + row * rows.stride;
}

// Prefetches rows [row, row + 4). Addresses beyond the end are harmless.
HWY_INLINE void fetch_four(const Prefetch& rows, std::int64_t row) {
  const auto* at = static_cast<const std::uint8_t*>(rows.data) + row * rows.stride;
  for (std::int64_t byte = 0; byte < rows.bytes; byte += 64) {
    hwy::Prefetch(at + byte);
    hwy::Prefetch(at + rows.stride + byte);
    hwy::Prefetch(at + 2 * rows.stride + byte);
    hwy::Prefetch(at + 3 * rows.stride + byte);
  }
}

// The last n numbers of a row, fewer than a vector, padded with zeros.
template <typename T>
HWY_INLINE Vec load_rest(const T* from, std::int64_t n) {
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)] = {};
  for (std::int64_t d = 0; d < n; ++d) buffer[d] = one_as_float(from[d]);
  return hn::Load(F(), buffer);
}

// s[r, 0..3] = <q[r], k[key..key+3]> for R rows. Keys beyond the last are read as the last one.
template <int R, typename T>
HWY_INLINE void dot_keys(const Decode& t, const float* HWY_RESTRICT q, std::int64_t key, std::int64_t last, float* s) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  const T* k[4];
  for (int n = 0; n < 4; ++n) k[n] = row_of<T>(t.k, std::min(key + n, last));
  Vec sum[R][4];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int n = 0; n < 4; ++n) sum[r][n] = hn::Zero(f);
  const auto add_vector = [&](std::int64_t d) HWY_ATTR {
    Vec x[4];
#pragma GCC unroll 4
    for (int n = 0; n < 4; ++n) x[n] = load_as_float(k[n] + d);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const Vec y = hn::LoadU(f, q + r * kQueryStride + d);
#pragma GCC unroll 4
      for (int n = 0; n < 4; ++n) sum[r][n] = hn::MulAdd(y, x[n], sum[r][n]);
    }
  };
  std::int64_t d = 0;
  for (; d + 4 * lanes <= t.width; d += 4 * lanes) {
    add_vector(d);
    add_vector(d + lanes);
    add_vector(d + 2 * lanes);
    add_vector(d + 3 * lanes);
  }
  for (; d + lanes <= t.width; d += lanes) add_vector(d);
  if (d < t.width) {
    for (int n = 0; n < 4; ++n) {
      const Vec x = load_rest(k[n] + d, t.width - d);
      for (int r = 0; r < R; ++r) sum[r][n] = hn::MulAdd(hn::LoadU(f, q + r * kQueryStride + d), x, sum[r][n]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) reduce_four(sum[r], s + r * kStep, Sum());
}

template <typename T>
HWY_INLINE void score_keys(const Decode& t, const DecodeState& state, std::int64_t key, std::int64_t keys) {
  const Prefetch next_keys(t.k, keys, t.width);
  const Prefetch next_values(t.v, keys, t.value_width);
  for (std::int64_t n = 0; n < keys; n += 4) {
    fetch_four(next_keys, key + n + kAhead);
    fetch_four(next_values, key + n + kAhead);
    for (std::int64_t r = 0; r < state.rows; r += kDotRows) {
      dot_keys<kDotRows, T>(t, state.q + r * kQueryStride, key + n, key + keys - 1, state.s + r * kStep + n);
    }
  }
}

// o[r, e..] += sum_j s[r, j] v[j, e..], NV vectors of R rows, over the keys of one step.
template <int R, int NV, typename T>
HWY_INLINE void add_columns(const float* HWY_RESTRICT s, const T* HWY_RESTRICT v, std::int64_t stride,
                            std::int64_t keys, float* HWY_RESTRICT o, std::int64_t o_stride) {
  Accumulators<R, NV> c;
  c.load(o, o_stride);
  c.template add_product<static_cast<int>(kStep)>(s, v, stride, keys);
  c.store(o, o_stride);
}

// All columns of R rows, from row r on, over the keys [key + j, key + j + keys) of the step that starts at key.
template <int R, typename T>
HWY_INLINE void add_rows(const Decode& t, const DecodeState& state, std::int64_t r, std::int64_t key, std::int64_t j,
                         std::int64_t keys) {
  const std::int64_t lanes = lanes_of_float();
  const float* s = state.s + r * kStep + j;
  const T* v = row_of<T>(t.v, key + j);
  float* o = state.o + r * state.padded;
  std::int64_t e = 0;
  for (; e + kMaxVectors * lanes <= t.value_width; e += kMaxVectors * lanes) {
    add_columns<R, kMaxVectors>(s, v + e, t.v.stride, keys, o + e, state.padded);
  }
  for (; e + lanes <= t.value_width; e += lanes) {
    add_columns<R, 1>(s, v + e, t.v.stride, keys, o + e, state.padded);
  }
  if (e < t.value_width) add_columns<R, 1>(s, state.tail + j * lanes, lanes, keys, o + e, state.padded);
}

// o += s v for one step. With bits, a value that a row does not see is not even multiplied by 0: it may be infinite.
template <typename T>
HWY_INLINE void add_values_of_step(const Decode& t, const DecodeState& state, const Segment& step) {
  const std::int64_t lanes = lanes_of_float();
  const std::int64_t whole = t.value_width / lanes * lanes;
  if (whole < t.value_width) {
    for (std::int64_t j = 0; j < step.keys; ++j) {
      hn::Store(load_rest(row_of<T>(t.v, step.key + j) + whole, t.value_width - whole), F(), state.tail + j * lanes);
    }
  }
  if (step.bits == nullptr) {
    for (std::int64_t r = 0; r < state.rows; r += kDotRows) add_rows<kDotRows, T>(t, state, r, step.key, 0, step.keys);
    return;
  }
  for (std::int64_t r = 0; r < state.rows; ++r) {
    std::uint64_t word = step.bits[r % t.queries];
    while (word != 0) {  // for every run of keys that the row sees
      const int from = std::countr_zero(word);
      const int count = std::countr_one(word >> static_cast<unsigned>(from));
      add_rows<1, T>(t, state, r, step.key, from, count);
      word =
          from + count == 64 ? 0 : word >> static_cast<unsigned>(from + count) << static_cast<unsigned>(from + count);
    }
  }
}

// Rescales the sums of row r from one base to another.
HWY_INLINE void rebase(const DecodeState& state, std::int64_t r, float from, float to) {
  const F f;
  const Vec shrink = hn::Set(f, exp2_of(from - to));
  float* total = state.sum + r * lanes_of_float();
  hn::Store(hn::Mul(shrink, hn::Load(f, total)), f, total);
  float* o = state.o + r * state.padded;
  for (std::int64_t e = 0; e < state.padded; e += lanes_of_float()) {
    hn::Store(hn::Mul(shrink, hn::Load(f, o + e)), f, o + e);
  }
}

// Online softmax of one step: replaces scores by exp2(score - base).
HWY_INLINE void soften_step(const Decode& t, const DecodeState& state, const Segment& step) {
  const F f;
  Slots slots;
  slots.count = 1;
  slots.at[0] = {step.key, 0, step.key, step.key + step.keys, step.key, nullptr};
  slots.width = slots.at[0].width();
  const bool whole = step.bits == nullptr && slots.width == step.keys;
  for (std::int64_t r = 0; r < state.rows; r += 4) {
    const auto rows = static_cast<int>(std::min<std::int64_t>(4, state.rows - r));
    Vec lanes[4];
    for (int n = 0; n < 4; ++n) {
      const std::int64_t row = r + std::min(n, rows - 1), h = row / t.queries, i = row % t.queries;
      float* s = state.s + row * kStep;
      slots.at[0].bits = step.bits == nullptr ? nullptr : step.bits + i;
      if (n < rows && !(whole && are_scores(t.scoring[h], slots))) finish_scores(t.scoring[h], slots, 0, i, s);
      lanes[n] = largest_lanes(s, slots.width);
    }
    float peak[4];
    reduce_four(lanes, peak, Larger());
    for (int n = 0; n < rows; ++n) {
      const std::int64_t row = r + n;
      float* s = state.s + row * kStep;
      const float before = state.base[row];
      const float base = base_for(before, peak[n]);
      const Vec sum = exponentiate(s, slots.width, base);
      if (HWY_UNLIKELY(base != before && before != kNever)) rebase(state, row, before, base);
      float* total = state.sum + row * lanes_of_float();
      hn::Store(hn::Add(hn::Load(f, total), sum), f, total);
      state.base[row] = base;
      const DropoutHash& dropout = t.dropout[row / t.queries];
      if (dropout.threshold != 0) drop(dropout, slots, row % t.queries, s);
    }
  }
}

template <class Call>
HWY_INLINE void with_type(Element type, const Call& call) {
  switch (type) {
    case Element::float32:
      return call(float());
    case Element::float16:
      return call(hwy::float16_t());
    case Element::bfloat16:
      return call(hwy::bfloat16_t());
  }
}

HWY_INLINE void take_step(const Decode& t, const DecodeState& state, const Segment& step) {
  with_type(t.k.type, [&](auto type) HWY_ATTR { score_keys<decltype(type)>(t, state, step.key, step.keys); });
  soften_step(t, state, step);
  with_type(t.v.type, [&](auto type) HWY_ATTR { add_values_of_step<decltype(type)>(t, state, step); });
}

void run_decode(const Decode& t) {
  const FlushDenormals guard;
  const F f;
  const std::int64_t lanes = lanes_of_float();
  const DecodeState state = lay_out(t);
  const std::int64_t rows = round_up(state.rows, kDotRows);
  std::fill_n(state.q, rows * kQueryStride, 0.0F);
  std::fill_n(state.s, rows * kStep, 0.0F);
  std::fill_n(state.sum, rows * lanes, 0.0F);
  std::fill_n(state.o, rows * state.padded, 0.0F);
  std::fill_n(state.base, rows, kNever);
  for (std::int64_t r = 0; r < state.rows; ++r) {
    Rows q = t.q;
    const std::int64_t size = size_of(q.type);
    q.data = static_cast<const std::uint8_t*>(q.data) + r / t.queries * t.head_stride * size;
    scale_row(q, r % t.queries, t.width, t.scoring[r / t.queries].q_scale, state.q + r * kQueryStride);
  }
  for (std::int64_t n = 0; n < t.segment_count; ++n) {
    Segment step = t.segments[n];
    for (const std::int64_t end = step.key + step.keys; step.key < end; step.key += kStep) {
      step.keys = std::min(kStep, end - step.key);
      take_step(t, state, step);
    }
  }
  for (std::int64_t r = 0; r < state.rows; ++r) {
    const float sum = hn::GetLane(hn::SumOfLanes(f, hn::Load(f, state.sum + r * lanes)));
    const Outcome outcome = conclude(sum, state.base[r], kNever);
    scale_row(state.o + r * state.padded, t.value_width, outcome.factor * t.dropout[r / t.queries].scale,
              t.out + r * t.value_width);
    t.lse[r] = lse_of(outcome);
  }
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {
HWY_EXPORT(decode_scratch_floats);
HWY_EXPORT(run_decode);

std::int64_t decode_scratch(std::int64_t rows, std::int64_t value_width) noexcept {
  return HWY_DYNAMIC_DISPATCH(decode_scratch_floats)(rows, value_width);
}
void decode(const Decode& task) noexcept { HWY_DYNAMIC_DISPATCH(run_decode)(task); }
}  // namespace attn::kernels
#endif
