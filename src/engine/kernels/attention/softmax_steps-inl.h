// engine/kernels/attention/softmax_steps-inl.h - the steps of attention over one chunk of keys: scores, biases and
// mask, softmax, values. forward.cc, forward_with_weights.cc, rebuild.cc and backward.cc are made of them.
//
// A group of R query rows goes through all steps together, so that its scores stay in the L1 cache. `s` is
// [R][kChunk] scores. They are packed: the slots say which keys they belong to, so that gaps between segments cost
// nothing.
#if defined(ATTN_ENGINE_KERNELS_ATTENTION_SOFTMAX_STEPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_ENGINE_KERNELS_ATTENTION_SOFTMAX_STEPS_INL_H_
#undef ATTN_ENGINE_KERNELS_ATTENTION_SOFTMAX_STEPS_INL_H_
#else
#define ATTN_ENGINE_KERNELS_ATTENTION_SOFTMAX_STEPS_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "engine/kernels/attention/dropout-inl.h"
#include "engine/kernels/common/register_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

inline constexpr int kQueryStride = static_cast<int>(kMaxWidth) + 16;  // not a power of two: rows spread over the cache
inline constexpr int kScoreStride = static_cast<int>(kChunk);
inline constexpr int kMaxSlots = static_cast<int>(kChunk / kTileKeys);
inline constexpr float kLn2 = 0.69314718055994530942F;

// The place of a segment among the scores. Key `key`, a multiple of the vector length, is at s[at]. [begin, end) are
// the keys that some row of the group sees.
struct Slot {
  std::int64_t key = 0, at = 0, begin = 0, end = 0;
  std::int64_t tile = 0;                // the key of bit 0
  const std::uint64_t* bits = nullptr;  // one word per row of the group; null: all of [begin, end)

  [[nodiscard]] HWY_INLINE std::int64_t width() const { return round_up(end - key, lanes_of_float()); }
};

struct Slots {
  Slot at[kMaxSlots];
  int count = 0;
  std::int64_t width = 0;  // scores per row, a multiple of the vector length
};

// The slots of a visit, for the group of `rows` rows that starts at `row` of the tile. Segments that none of these rows
// sees have no slot.
HWY_INLINE Slots place(const Segment* segments, const Visit& visit, int row, int rows) {
  Slots slots;
  for (int n = 0; n < visit.count; ++n) {
    const Segment& segment = segments[visit.segment + n];
    Slot slot;
    slot.tile = segment.key;
    slot.begin = segment.key;
    slot.end = segment.key + segment.keys;
    if (segment.bits != nullptr) {
      slot.bits = segment.bits + row;
      std::uint64_t any = 0;
      for (int r = 0; r < rows; ++r) any |= slot.bits[r];
      if (any == 0) continue;
      slot.begin = segment.key + std::countr_zero(any);
      slot.end = segment.key + kTileKeys - std::countl_zero(any);
    }
    slot.key = slot.begin / lanes_of_float() * lanes_of_float();
    slot.at = slots.width;
    slots.width += slot.width();
    slots.at[slots.count++] = slot;
  }
  return slots;
}

struct Keys {
  const float* panels = nullptr;  // [D][2 vectors] each
  std::int64_t width = 0;         // D
  std::int64_t origin = 0;        // the first key in the panels
};

// s[r, at..] = <q[r], k[key..]> for the keys of a slot.
template <int R>
HWY_INLINE void multiply_keys(const float* HWY_RESTRICT q, const Keys& keys, const Slot& slot, float* HWY_RESTRICT s) {
  const std::int64_t lanes = lanes_of_float();
  const std::int64_t panel = 2 * lanes;
  float* to = s + slot.at;
  std::int64_t key = slot.key;
  const auto multiply = [&]<int NV>(std::int64_t half) HWY_ATTR {
    Accumulators<R, NV> c;
    c.clear();
    c.template add_product<kQueryStride>(q, keys.panels + (key - half - keys.origin) * keys.width + half, panel,
                                         keys.width);
    c.store(to, kScoreStride);
    key += NV * lanes;
    to += NV * lanes;
  };
  while (key < slot.end) {
    const std::int64_t half = key % panel;
    if (half == 0 && key + lanes < slot.end) {
      multiply.template operator()<2>(half);
    } else {
      multiply.template operator()<1>(half);
    }
  }
}

// Reads p[0, n), n at most a vector, and nothing beyond.
HWY_INLINE Vec load_first(const float* p, std::int64_t n) {
  if (n >= lanes_of_float()) return hn::LoadU(F(), p);
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)] = {};
  std::copy_n(p, n, buffer);
  return hn::Load(F(), buffer);
}

// Applies softcap and biases to the scores of query i in one slot.
HWY_INLINE void adjust_scores(const Scoring& how, const Slot& slot, std::int64_t i, float* HWY_RESTRICT s) {
  const F f;
  const Vec to_log2 = hn::Set(f, kLog2E);
  const Vec cap = hn::Set(f, how.softcap);
  for (std::int64_t key = slot.key; key < slot.end; key += lanes_of_float()) {
    float* at = s + slot.at + (key - slot.key);
    Vec x = hn::Load(f, at);
    if (how.softcap != 0) x = hn::Mul(cap, tanh_of(x));
    if (how.bias != nullptr) x = hn::MulAdd(to_log2, load_first(how.bias + (key - i), slot.end - key), x);
    for (const DenseBias& dense : how.dense) {
      if (dense.data == nullptr) continue;
      x = hn::MulAdd(to_log2, load_first(dense.data + i * dense.stride + key, slot.end - key), x);
    }
    hn::Store(x, f, at);
  }
}

// Writes `instead` where row r of the group does not see the key of a slot, or where there is no key.
HWY_INLINE void forbid(const Slot& slot, int r, float instead, float* HWY_RESTRICT s) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  const Vec never = hn::Set(f, instead);
  float* at = s + slot.at;
  if (slot.bits == nullptr) {
    const std::int64_t last = (slot.end - slot.key) / lanes * lanes;
    if (last == slot.end - slot.key) return;
    const auto seen = hn::FirstN(f, static_cast<std::size_t>(slot.end - slot.key - last));
    hn::Store(hn::IfThenElse(seen, hn::Load(f, at + last), never), f, at + last);
    return;
  }
  std::uint64_t word = slot.bits[r] >> static_cast<unsigned>(slot.key - slot.tile);
  for (std::int64_t key = slot.key; key < slot.end; key += lanes, at += lanes) {
    std::uint8_t bytes[8];
    std::memcpy(bytes, &word, sizeof bytes);
    hn::Store(hn::IfThenElse(hn::LoadMaskBits(f, bytes), hn::Load(f, at), never), f, at);
    word = lanes < 64 ? word >> static_cast<unsigned>(lanes) : 0;
  }
}

// Whether the products are already the scores: nothing to add, nothing masked, and no padding in the slots.
HWY_INLINE bool are_scores(const Scoring& how, const Slots& slots) {
  if (how.softcap != 0 || how.bias != nullptr || how.dense[0].data != nullptr || how.dense[1].data != nullptr)
    return false;
  for (int n = 0; n < slots.count; ++n) {
    const Slot& slot = slots.at[n];
    if (slot.bits != nullptr || slot.key + slot.width() != slot.end) return false;
  }
  return true;
}

// Turns products into scores for row r of the group, query i: softcap, biases, mask.
HWY_INLINE void finish_scores(const Scoring& how, const Slots& slots, int r, std::int64_t i, float* HWY_RESTRICT s) {
  const bool adjust =
      how.softcap != 0 || how.bias != nullptr || how.dense[0].data != nullptr || how.dense[1].data != nullptr;
  for (int n = 0; n < slots.count; ++n) {
    if (adjust) adjust_scores(how, slots.at[n], i, s);
    forbid(slots.at[n], r, kNever, s);
  }
}

// The largest score of a row, per lane.
HWY_INLINE Vec largest_lanes(const float* HWY_RESTRICT s, std::int64_t count) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  Vec a = hn::Set(f, kNever), b = a;
  std::int64_t j = 0;
  for (; j + 2 * lanes <= count; j += 2 * lanes) {
    a = hn::Max(a, hn::Load(f, s + j));
    b = hn::Max(b, hn::Load(f, s + j + lanes));
  }
  if (j < count) a = hn::Max(a, hn::Load(f, s + j));
  return hn::Max(a, b);
}

// The largest score of each of R rows, four at a time; peak has room for R rounded up to a multiple of 4.
template <int R>
HWY_INLINE void largest_of_rows(const float* HWY_RESTRICT s, std::int64_t count, float* peak) {
  for (int r = 0; r < R; r += 4) {
    Vec rows[4];
#pragma GCC unroll 4
    for (int n = 0; n < 4; ++n) rows[n] = largest_lanes(s + std::min(r + n, R - 1) * kScoreStride, count);
    reduce_four(rows, peak + r, Larger());
  }
}

// The softmax computes exp2(score - base). Floats are equally precise at any scale, so any base within kSlack of the
// row's largest score will do. The base stays 0 as long as it can, which saves a subtraction per score and rescaling
// the sums.
inline constexpr float kSlack = 60;

// The new base of a row whose base was `base` (kNever: no key seen yet) and whose next largest score is `peak`.
HWY_INLINE float base_for(float base, float peak) {
  if (base != kNever) return peak > base + kSlack ? peak : base;
  return std::abs(peak) <= kSlack ? 0.0F : peak;
}

template <bool kShifted>
HWY_INLINE Vec exponentiate_from(float* HWY_RESTRICT s, std::int64_t count, float base) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  const Vec zero = hn::Set(f, base);
  const auto power = [&](float* at) HWY_ATTR {
    Vec x = hn::Load(f, at);
    if constexpr (kShifted) x = hn::Sub(x, zero);
    x = exp2_of(x);
    hn::Store(x, f, at);
    return x;
  };
  Vec a = hn::Zero(f), b = a;
  std::int64_t j = 0;
  for (; j + 2 * lanes <= count; j += 2 * lanes) {
    a = hn::Add(a, power(s + j));
    b = hn::Add(b, power(s + j + lanes));
  }
  if (j < count) a = hn::Add(a, power(s + j));
  return hn::Add(a, b);
}

// s = exp2(s - base). Returns the sum, per lane.
HWY_INLINE Vec exponentiate(float* HWY_RESTRICT s, std::int64_t count, float base) {
  return base == 0 || base == kNever ? exponentiate_from<false>(s, count, 0) : exponentiate_from<true>(s, count, base);
}

// Sets the weights of row i that dropout does not keep to 0. The kept ones are scaled at the end, with the sum.
HWY_INLINE void drop(const DropoutHash& dropout, const Slots& slots, std::int64_t i, float* HWY_RESTRICT s) {
  const F f;
  const Dropped dropped(dropout, i);
  for (int n = 0; n < slots.count; ++n) {
    const Slot& slot = slots.at[n];
    for (std::int64_t j = slot.key; j < slot.end; j += lanes_of_float()) {
      float* at = s + slot.at + (j - slot.key);
      hn::Store(hn::IfThenZeroElse(dropped(j), hn::Load(f, at)), f, at);
    }
  }
}

struct Values {
  const float* data = nullptr;
  std::int64_t stride = 0;                   // from key to key
  std::int64_t column_step = 0;              // from one pair of vectors to the next
  std::int64_t width = 0;                    // E rounded up to whole vectors: the readable part of a row
  std::int64_t origin = 0;                   // the first key in data and not_finite
  const std::uint8_t* not_finite = nullptr;  // one flag per key tile; null: all values are finite
  float* clean = nullptr;                    // [kChunk][width]: scratch for clean_values

  // The row of a key from column e on.
  [[nodiscard]] HWY_INLINE const float* row(std::int64_t key, std::int64_t e) const {
    return data + (key - origin) * stride + e / (2 * lanes_of_float()) * column_step;
  }
  [[nodiscard]] HWY_INLINE float one(std::int64_t key, std::int64_t e) const {
    return row(key, e)[e % (2 * lanes_of_float())];
  }
};

// Whether 0 times a value of this slot may be NaN, for a row that does not see the key.
HWY_INLINE bool needs_care(const Values& v, const Slot& slot) {
  return slot.bits != nullptr && v.not_finite != nullptr && v.not_finite[(slot.tile - v.origin) / kTileKeys] != 0;
}

// Copies the values of such slots, with 0 in place of infinities and NaN, so that rows that do not see the key are not
// affected by it.
inline HWY_NOINLINE void clean_values(const Slots& slots, const Values& v) {
  for (int n = 0; n < slots.count; ++n) {
    const Slot& slot = slots.at[n];
    if (!needs_care(v, slot)) continue;
    for (std::int64_t key = slot.begin; key < slot.end; ++key) {
      float* to = v.clean + (slot.at + key - slot.key) * v.width;
      for (std::int64_t e = 0; e < v.width; ++e) to[e] = std::isfinite(v.one(key, e)) ? v.one(key, e) : 0.0F;
    }
  }
}

// Adds the infinities and NaN that clean_values left out, for the rows that do see the key.
inline HWY_NOINLINE void add_not_finite(const float* s, const Slots& slots, const Values& v, int rows, float* o) {
  for (int n = 0; n < slots.count; ++n) {
    const Slot& slot = slots.at[n];
    if (!needs_care(v, slot)) continue;
    for (int r = 0; r < rows; ++r) {
      for (std::int64_t key = slot.begin; key < slot.end; ++key) {
        if (((slot.bits[r] >> static_cast<unsigned>(key - slot.tile)) & 1U) == 0) continue;
        const float p = s[r * kScoreStride + slot.at + (key - slot.key)];
        for (std::int64_t e = 0; e < v.width; ++e) {
          if (!std::isfinite(v.one(key, e))) o[r * v.width + e] += p * v.one(key, e);
        }
      }
    }
  }
}

template <int R, int NV>
HWY_INLINE void add_values(const float* HWY_RESTRICT s, const Slots& slots, const Values& v, std::int64_t e,
                           Accumulators<R, NV>& c) {
  for (int n = 0; n < slots.count; ++n) {
    const Slot& slot = slots.at[n];
    const std::int64_t at = slot.at + (slot.begin - slot.key);
    const bool care = needs_care(v, slot);
    c.template add_product<kScoreStride>(s + at, care ? v.clean + at * v.width + e : v.row(slot.begin, e),
                                         care ? v.width : v.stride, slot.end - slot.begin);
  }
}

// How multiply_values starts: from 0, from the sums so far, or from these times a factor per row.
struct Before {
  bool none = false;              // o starts from 0
  const float* shrink = nullptr;  // one factor per row; null: 1
};

struct NothingElse {
  HWY_INLINE void operator()(std::int64_t /*column*/) const {}
};

// o[r] += sum_j s[r, j] v[j], r < rows. meanwhile(e) is called before the columns from e on.
template <int R, class Meanwhile = NothingElse>
HWY_INLINE void multiply_values(const float* HWY_RESTRICT s, const Slots& slots, const Values& v, int rows,
                                const Before& before, float* HWY_RESTRICT o, const Meanwhile& meanwhile = {}) {
  const std::int64_t lanes = lanes_of_float();
  if (HWY_UNLIKELY(v.not_finite != nullptr)) clean_values(slots, v);
  const auto columns = [&]<int NV>(std::int64_t e) HWY_ATTR {
    meanwhile(e);
    Accumulators<R, NV> c;
    if (before.none) {
      c.clear();
    } else if (before.shrink == nullptr) {
      c.load(o + e, v.width);
    } else {
      c.load_scaled(o + e, v.width, before.shrink);
    }
    add_values<R, NV>(s, slots, v, e, c);
    c.store(o + e, v.width);
  };
  std::int64_t e = 0;
  for (; e + 2 * lanes <= v.width; e += 2 * lanes) columns.template operator()<2>(e);
  if (e < v.width) columns.template operator()<1>(e);
  if (HWY_UNLIKELY(v.not_finite != nullptr)) add_not_finite(s, slots, v, rows, o);
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
