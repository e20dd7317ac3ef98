// engine/kernels/product/product_pack.cc - packs weights into panels [in][2 vectors] and rows of x into strips (see
// product.h).
//
// A matrix [out, in] is transposed on the way, 16 bytes of every row at a time, in registers; a matrix [in, out] is
// only copied. Weights are read as bytes, because tensors in a mapped file may start at any address.
#include "engine/kernels/product/product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/kernels/product/product_pack.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "engine/kernels/common/register_tile-inl.h"
#include "engine/kernels/product/strips-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

using W = hn::RebindToUnsigned<F>;               // words of 32 bits
using H = hn::Repartition<std::uint16_t, W>;     // words of 16 bits
inline constexpr std::int64_t kBlockBytes = 64;  // bytes of each row per prefetch
// Prefetch distance: a panel has more rows than the hardware's own prefetcher can follow.
inline constexpr std::int64_t kAheadBytes = 512;

// Rows of bytes.
struct ByteRows {
  const std::uint8_t* data = nullptr;
  std::int64_t stride = 0;
};

// Sixteen bytes of every fourth row: block b of the vector is from row 4 b.
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const std::uint8_t* from, std::int64_t stride) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return hn::BitCast(d, hn::LoadU(hn::Repartition<std::uint8_t, D>(), from));
  } else {
    const hn::Half<D> half;
    const auto high = static_cast<std::int64_t>(hn::Lanes(half));  // rows in the lower half
    return hn::Combine(d, load_blocks(half, from + high * stride, stride), load_blocks(half, from, stride));
  }
}

// Transposes four words of `lanes` rows: to[n] holds word n of each row.
HWY_INLINE void transpose_words(const ByteRows& rows, hn::Vec<W> (&to)[4]) {
  const W w;
  const hn::Repartition<std::uint64_t, W> pairs;
  const auto r0 = load_blocks(w, rows.data, rows.stride);
  const auto r1 = load_blocks(w, rows.data + rows.stride, rows.stride);
  const auto r2 = load_blocks(w, rows.data + 2 * rows.stride, rows.stride);
  const auto r3 = load_blocks(w, rows.data + 3 * rows.stride, rows.stride);
  const auto a = hn::BitCast(pairs, hn::InterleaveLower(w, r0, r1));  // rows 0 1, words 0 1
  const auto b = hn::BitCast(pairs, hn::InterleaveLower(w, r2, r3));
  const auto c = hn::BitCast(pairs, hn::InterleaveUpper(w, r0, r1));  // words 2 3
  const auto e = hn::BitCast(pairs, hn::InterleaveUpper(w, r2, r3));
  to[0] = hn::BitCast(w, hn::InterleaveLower(pairs, a, b));
  to[1] = hn::BitCast(w, hn::InterleaveUpper(pairs, a, b));
  to[2] = hn::BitCast(w, hn::InterleaveLower(pairs, c, e));
  to[3] = hn::BitCast(w, hn::InterleaveUpper(pairs, c, e));
}

// Transposes sixteen bytes of each row of a panel.
HWY_INLINE void transpose_block(const ByteRows& rows, std::uint32_t* HWY_RESTRICT to) {
  const W w;
  const std::int64_t lanes = lanes_of_float();
  hn::Vec<W> low[4], high[4];
  transpose_words(rows, low);
  transpose_words({rows.data + lanes * rows.stride, rows.stride}, high);
#pragma GCC unroll 4
  for (int n = 0; n < 4; ++n) {
    hn::Store(low[n], w, to + n * 2 * lanes);
    hn::Store(high[n], w, to + (n * 2 + 1) * lanes);
  }
}
HWY_INLINE void transpose_block(const ByteRows& rows, std::uint16_t* HWY_RESTRICT to) {
  const H h;
  const std::int64_t lanes = lanes_of_float();
  hn::Vec<W> low[4], high[4];
  transpose_words(rows, low);
  transpose_words({rows.data + lanes * rows.stride, rows.stride}, high);
#pragma GCC unroll 4
  for (int n = 0; n < 4; ++n) {
    const auto first = hn::BitCast(h, low[n]), second = hn::BitCast(h, high[n]);
    hn::Store(hn::ConcatEven(h, second, first), h, to + 4 * n * lanes);
    hn::Store(hn::ConcatOdd(h, second, first), h, to + (4 * n + 2) * lanes);
  }
}

// to[k, r] = rows[r, k] for all rows of a panel and k < depth.
template <typename Word>
HWY_INLINE void transpose_panel(const ByteRows& rows, std::int64_t depth, Word* HWY_RESTRICT to) {
  constexpr std::int64_t kSize = sizeof(Word);
  constexpr std::int64_t kStep = 16 / kSize;
  const std::int64_t panel = 2 * lanes_of_float();
  std::int64_t k = 0;
  for (; k + kStep <= depth; k += kStep) {
    if (k * kSize % kBlockBytes == 0) {
      for (std::int64_t r = 0; r < panel; ++r) hwy::Prefetch(rows.data + r * rows.stride + k * kSize + kAheadBytes);
    }
    transpose_block({rows.data + k * kSize, rows.stride}, to + k * panel);
  }
  for (; k < depth; ++k) {
    for (std::int64_t r = 0; r < panel; ++r) {
      std::memcpy(to + k * panel + r, rows.data + r * rows.stride + k * kSize, sizeof(Word));
    }
  }
}

// Copies count numbers, unchanged or converted to floats.
template <typename From, typename To>
HWY_INLINE void copy_numbers(const std::uint8_t* from, std::int64_t count, To* to) {
  if constexpr (std::is_same_v<From, To>) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(From));
  } else {
    const std::int64_t lanes = lanes_of_float();
    std::int64_t n = 0;
    for (; n + lanes <= count; n += lanes) {
      hn::StoreU(load_as_float(reinterpret_cast<const From*>(from) + n), F(), to + n);
    }
    for (; n < count; ++n) {
      From one;
      std::memcpy(static_cast<void*>(&one), from + n * static_cast<std::int64_t>(sizeof(From)), sizeof(From));
      to[n] = one_as_float(one);
    }
  }
}

template <typename To>
using WordOf = std::conditional_t<sizeof(To) == 4, std::uint32_t, std::uint16_t>;

// The same for rows that are fewer than a panel or must be converted: they are copied to a buffer first.
template <typename From, typename To>
HWY_INLINE void transpose_copied(const ByteRows& rows, std::int64_t count, std::int64_t depth, To* to) {
  constexpr std::int64_t kStep = 64;
  constexpr std::int64_t kMaxPanel = 2 * HWY_MAX_BYTES / 4;
  const std::int64_t panel = 2 * lanes_of_float();
  HWY_ALIGN To copy[kMaxPanel * kStep];
  std::memset(static_cast<void*>(copy), 0, sizeof(copy));
  for (std::int64_t k = 0; k < depth; k += kStep) {
    const std::int64_t part = std::min(kStep, depth - k);
    for (std::int64_t r = 0; r < count; ++r) {
      const std::uint8_t* from = rows.data + r * rows.stride + k * static_cast<std::int64_t>(sizeof(From));
      copy_numbers<From>(from, part, copy + r * kStep);
    }
    const ByteRows copied{reinterpret_cast<const std::uint8_t*>(copy), kStep * static_cast<std::int64_t>(sizeof(To))};
    transpose_panel(copied, part, reinterpret_cast<WordOf<To>*>(to + k * panel));
  }
}

template <typename From, typename To>
HWY_INLINE void pack_output_first(const PackWeights& t, std::int64_t first, std::int64_t count) {
  const std::int64_t panel = 2 * lanes_of_float();
  const std::int64_t stride = t.matrix.stride * static_cast<std::int64_t>(sizeof(From));
  for (std::int64_t p = first; p < first + count; ++p) {
    const ByteRows rows{static_cast<const std::uint8_t*>(t.matrix.data) + p * panel * stride, stride};
    To* to = static_cast<To*>(t.panels) + p * panel * t.inputs;
    const std::int64_t outputs = std::min(panel, t.outputs - p * panel);
    if (std::is_same_v<From, To> && outputs == panel) {
      transpose_panel(rows, t.inputs, reinterpret_cast<WordOf<To>*>(to));
    } else {
      transpose_copied<From>(rows, outputs, t.inputs, to);
    }
  }
}

template <typename From, typename To>
HWY_INLINE void pack_input_first(const PackWeights& t, std::int64_t first, std::int64_t count) {
  constexpr std::int64_t kSize = sizeof(From);
  const std::int64_t panel = 2 * lanes_of_float();
  for (std::int64_t k = 0; k < t.inputs; ++k) {
    const std::uint8_t* row = static_cast<const std::uint8_t*>(t.matrix.data) + k * t.matrix.stride * kSize;
    for (std::int64_t p = first; p < first + count; ++p) {
      To* to = static_cast<To*>(t.panels) + (p * t.inputs + k) * panel;
      const std::int64_t outputs = std::min(panel, t.outputs - p * panel);
      if (HWY_LIKELY(outputs == panel)) {
        copy_numbers<From>(row + p * panel * kSize, panel, to);
      } else {
        copy_numbers<From>(row + p * panel * kSize, outputs, to);
        std::memset(static_cast<void*>(to + outputs), 0, static_cast<std::size_t>(panel - outputs) * sizeof(To));
      }
    }
  }
}

template <typename From, typename To>
HWY_NOINLINE void pack_as(const PackWeights& t, std::int64_t first, std::int64_t count) {
  if (t.input_first) {
    pack_input_first<From, To>(t, first, count);
  } else {
    pack_output_first<From, To>(t, first, count);
  }
}

void pack_panels(const PackWeights& t, std::int64_t first, std::int64_t count) {
  const bool widen = t.to == Element::float32;
  switch (t.matrix.type) {
    case Element::float32:
      return pack_as<float, float>(t, first, count);
    case Element::float16:
      return widen ? pack_as<hwy::float16_t, float>(t, first, count)
                   : pack_as<hwy::float16_t, hwy::float16_t>(t, first, count);
    case Element::bfloat16:
      return widen ? pack_as<hwy::bfloat16_t, float>(t, first, count)
                   : pack_as<hwy::bfloat16_t, hwy::bfloat16_t>(t, first, count);
  }
}

void copy_strips(const PackRows& t, std::int64_t first, std::int64_t count) {
  for (std::int64_t strip = first; strip < first + count; ++strip) {
    const std::int64_t row = first_row(t.rows, strip);
    const std::int64_t rows = first_row(t.rows, strip + 1) - row;
    float* to = t.to + row * round_up(t.inputs, kDepth);
    for (std::int64_t k = 0; k < t.inputs; k += kDepth) {
      const auto bytes = static_cast<std::size_t>(std::min(kDepth, t.inputs - k)) * sizeof(float);
      for (std::int64_t r = 0; r < rows; ++r, to += kDepth) {
        std::memcpy(to, t.x.data + (row + r) * t.x.stride + k, bytes);
      }
    }
  }
}

// to[r, k] = x[k, r]; rows of `to` are kDepth apart. If rows is not a multiple of four, some rows are written twice.
HWY_INLINE void transpose_strip(const InRows& x, std::int64_t rows, std::int64_t depth, float* HWY_RESTRICT to) {
  const std::int64_t lanes = lanes_of_float();
  std::int64_t k = 0;
  for (; rows >= 4 && k + lanes <= depth; k += lanes) {
    for (std::int64_t next = 0; next < rows; next += 4) {
      const std::int64_t r = std::min(next, rows - 4);
      hn::Vec<W> words[4];
      transpose_words({reinterpret_cast<const std::uint8_t*>(x.data + k * x.stride + r), x.stride * 4}, words);
#pragma GCC unroll 4
      for (int n = 0; n < 4; ++n) hn::StoreU(hn::BitCast(F(), words[n]), F(), to + (r + n) * kDepth + k);
    }
  }
  for (; k < depth; ++k)
    for (std::int64_t r = 0; r < rows; ++r) to[r * kDepth + k] = x.data[k * x.stride + r];
}

// kDepth inputs of all strips before the next inputs: neighbouring strips share cache lines.
void transpose_strips(const PackRows& t, std::int64_t first, std::int64_t count) {
  for (std::int64_t k = 0; k < t.inputs; k += kDepth) {
    for (std::int64_t strip = first; strip < first + count; ++strip) {
      const std::int64_t row = first_row(t.rows, strip);
      const std::int64_t rows = first_row(t.rows, strip + 1) - row;
      float* to = t.to + row * round_up(t.inputs, kDepth) + k * rows;
      transpose_strip({t.x.data + k * t.x.stride + row, t.x.stride}, rows, std::min(kDepth, t.inputs - k), to);
    }
  }
}

void pack_strips(const PackRows& t, std::int64_t first, std::int64_t count) {
  if (t.transposed) {
    transpose_strips(t, first, count);
  } else {
    copy_strips(t, first, count);
  }
}

std::int64_t count_columns() { return 2 * lanes_of_float(); }

}  // namespace
}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {
HWY_EXPORT(pack_panels);
HWY_EXPORT(pack_strips);
HWY_EXPORT(count_columns);

std::int64_t panel_columns() noexcept { return HWY_DYNAMIC_DISPATCH(count_columns)(); }
void pack_weights(const PackWeights& task, std::int64_t first, std::int64_t count) noexcept {
  HWY_DYNAMIC_DISPATCH(pack_panels)(task, first, count);
}
void pack_rows(const PackRows& task, std::int64_t first, std::int64_t count) noexcept {
  HWY_DYNAMIC_DISPATCH(pack_strips)(task, first, count);
}
}  // namespace attn::kernels
#endif
