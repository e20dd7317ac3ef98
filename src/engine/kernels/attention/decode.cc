// engine/kernels/attention/decode.cc - see decode.h. Bound by memory: what counts is that K and V stream in without a
// pause, so the rows of both are fetched ahead while those of K are multiplied. At 262,144 keys that is as fast as
// merely reading them.
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

inline constexpr std::int64_t kStep = kTileKeys;         // keys at a time: K and V of them fit in the first cache
inline constexpr std::int64_t kAhead = 16;               // keys and values to fetch ahead: of 16 to 64 the best
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
  std::int64_t padded;  // E
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

// Fetches rows [row, row + 4). Beyond the end of the memory it does no harm.
HWY_INLINE void fetch_four(const Prefetch& rows, std::int64_t row) {
  const auto* at = static_cast<const std::uint8_t*>(rows.data) + row * rows.stride;
  for (std::int64_t byte = 0; byte < rows.bytes; byte += 64) {
    hwy::Prefetch(at + byte);
    hwy::Prefetch(at + rows.stride + byte);
    hwy::Prefetch(at + 2 * rows.stride + byte);
    hwy::Prefetch(at + 3 * rows.stride + byte);
  }
}

// The last numbers of a row, fewer than a vector, and zeros.
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

// All columns of R rows, from row r on, over the keys [key + j, key + j + keys) of the step at key.
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

// With bits, a value that a row may not see is not even multiplied by 0: it may be infinite.
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
    while (word != 0) {  // a run of keys that the row sees
      const int from = std::countr_zero(word);
      const int count = std::countr_one(word >> static_cast<unsigned>(from));
      add_rows<1, T>(t, state, r, step.key, from, count);
      word =
          from + count == 64 ? 0 : word >> static_cast<unsigned>(from + count) << static_cast<unsigned>(from + count);
    }
  }
}

// What was summed up under another base shrinks.
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

// Online softmax of one step: scores become weights.
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
