// engine/kernels/attention/backward-inl.h - the memory layout of keys and queries in the backward kernels.
//
// A matrix "in columns" is [width / panel][rows][panel], where a panel is as many numbers as two vectors hold; the last
// panel is padded with zeros. The register tile can read such a matrix as vectors and can broadcast from it along a
// row, and both read memory sequentially.
#if defined(ATTN_ENGINE_KERNELS_ATTENTION_BACKWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_ENGINE_KERNELS_ATTENTION_BACKWARD_INL_H_
#undef ATTN_ENGINE_KERNELS_ATTENTION_BACKWARD_INL_H_
#else
#define ATTN_ENGINE_KERNELS_ATTENTION_BACKWARD_INL_H_
#endif

#include <algorithm>

#include "engine/kernels/attention/backward.h"
#include "engine/kernels/attention/pack.h"
#include "engine/kernels/common/register_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

inline constexpr int kPanel = 2 * static_cast<int>(hn::MaxLanes(F()));
static_assert(kTileKeys % kPanel == 0);

HWY_INLINE std::int64_t column_floats(std::int64_t rows, std::int64_t width) { return rows * round_up(width, kPanel); }

struct KeyMemory {
  float* key_panels;    // [keys / panel][D][panel]
  float* value_panels;  // [keys / panel][E][panel]
  float* key_columns;   // k times scale, in columns; 0 in place of infinities and NaN
  float* dk;            // in columns: the sums so far
  float* dv;            // in columns
  std::int64_t keys;    // rounded up to whole panels
  std::int64_t floats;
};

HWY_INLINE KeyMemory lay_out_keys(float* memory, std::int64_t keys, std::int64_t width, std::int64_t value_width) {
  KeyMemory m{};
  m.keys = round_up(keys, kPanel);
  const auto take = [&](std::int64_t floats) {
    float* at = memory == nullptr ? nullptr : memory + m.floats;
    m.floats += floats;
    return at;
  };
  m.key_panels = take(m.keys * width);
  m.value_panels = take(m.keys * value_width);
  m.key_columns = take(column_floats(m.keys, width));
  m.dk = take(column_floats(m.keys, width));
  m.dv = take(column_floats(m.keys, value_width));
  return m;
}
HWY_INLINE KeyMemory lay_out_keys(const KeyBlock& b) { return lay_out_keys(b.memory, b.keys, b.width, b.value_width); }

// x, or 0 where it is infinite or NaN.
HWY_INLINE Vec finite_of(Vec x) {
  const Vec zero = hn::Zero(F());
  return hn::IfThenElseZero(hn::Eq(hn::Mul(x, zero), zero), x);
}

// x, or finite_of(x).
template <bool kFinite>
HWY_INLINE Vec as_wanted(Vec x) {
  if constexpr (kFinite) return finite_of(x);
  return x;
}

// Copies one row, times factor, into columns, padded with zeros.
template <bool kFinite, typename T>
HWY_INLINE void copy_row(const T* HWY_RESTRICT from, std::int64_t width, float factor, std::int64_t column_step,
                         float* HWY_RESTRICT to) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  const Vec scale = hn::Set(f, factor);
  std::int64_t d = 0;
  for (; d + kPanel <= width; d += kPanel, to += column_step) {
    hn::Store(as_wanted<kFinite>(hn::Mul(scale, load_as_float(from + d))), f, to);
    hn::Store(as_wanted<kFinite>(hn::Mul(scale, load_as_float(from + d + lanes))), f, to + lanes);
  }
  if (d == width) return;
  HWY_ALIGN float rest[kPanel] = {};
  scale_row(from + d, width - d, factor, rest);
  for (std::int64_t n = 0; n < kPanel; n += lanes) hn::Store(as_wanted<kFinite>(hn::Load(f, rest + n)), f, to + n);
}

struct CopyRows {
  Rows from;
  std::int64_t first = 0, count = 0;
  std::int64_t width = 0;
  float factor = 1;
};

template <bool kFinite, typename T>
HWY_INLINE void copy_columns_of(const CopyRows& c, std::int64_t rows, float* to) {
  for (std::int64_t r = 0; r < c.count; ++r) {
    const T* from = static_cast<const T*>(c.from.data) + (c.first + r) * c.from.stride;
    copy_row<kFinite>(from, c.width, c.factor, rows * kPanel, to + r * kPanel);
  }
}

// Copies rows [first, first + count), times factor, into columns of `rows` rows. With kFinite, infinities and NaN
// become 0: a row that is not seen must contribute 0, and a query that does see it is NaN already through lse and
// delta.
template <bool kFinite = true>
HWY_INLINE void copy_columns(const CopyRows& c, std::int64_t rows, float* to) {
  switch (c.from.type) {
    case Element::float32:
      copy_columns_of<kFinite, float>(c, rows, to);
      break;
    case Element::float16:
      copy_columns_of<kFinite, hwy::float16_t>(c, rows, to);
      break;
    case Element::bfloat16:
      copy_columns_of<kFinite, hwy::bfloat16_t>(c, rows, to);
      break;
  }
  for (std::int64_t d = 0; d < c.width; d += kPanel) {
    std::fill(to + d * rows + c.count * kPanel, to + (d + kPanel) * rows, 0.0F);
  }
}

// Packs keys or values into panels. Clears the last panel first, because pack_keys stops after the last vector that
// holds a key.
HWY_INLINE void pack_panels(const Rows& rows, std::int64_t keys, std::int64_t width, float* panels) {
  if (keys % kPanel != 0) std::fill_n(panels + keys / kPanel * kPanel * width, kPanel * width, 0.0F);
  pack_keys({rows, 0, keys, width, panels});
}

// c = a b^T: kRows rows of a matrix in columns, which is `rows` rows high, against one panel of keys or values.
HWY_INLINE void multiply_panel(const float* HWY_RESTRICT a, std::int64_t rows, const float* HWY_RESTRICT panel,
                               std::int64_t width, Accumulators<kRows, 2>& c) {
  c.clear();
  for (std::int64_t d = 0; d < width; d += kPanel, a += rows * kPanel, panel += kPanel * kPanel) {
    c.template add_product<kPanel>(a, panel, kPanel, std::min<std::int64_t>(kPanel, width - d));
  }
}

HWY_INLINE float dot(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, std::int64_t width) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  Vec sum = hn::Zero(f);
  std::int64_t e = 0;
  for (; e + lanes <= width; e += lanes) sum = hn::MulAdd(hn::LoadU(f, a + e), hn::LoadU(f, b + e), sum);
  float total = hn::GetLane(hn::SumOfLanes(f, sum));
  for (; e < width; ++e) total += a[e] * b[e];
  return total;
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
