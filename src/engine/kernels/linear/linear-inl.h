// engine/kernels/linear/linear-inl.h - linear attention: feature maps, and the layout of a chunk of keys and values.
#if defined(ATTN_ENGINE_KERNELS_LINEAR_LINEAR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_ENGINE_KERNELS_LINEAR_LINEAR_INL_H_
#undef ATTN_ENGINE_KERNELS_LINEAR_LINEAR_INL_H_
#else
#define ATTN_ENGINE_KERNELS_LINEAR_LINEAR_INL_H_
#endif

#include <hwy/cache_control.h>

#include <algorithm>

#include "engine/kernels/common/register_tile-inl.h"
#include "engine/kernels/linear/linear.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

constexpr int kStride = static_cast<int>(kLinearChunk);  // of arrays one chunk wide; also features per panel
constexpr int kFour = 4;                                 // rows that go through phi at once
static_assert(kTileRows % kFour == 0 && kLinearChunk % (2 * HWY_MAX_BYTES / sizeof(float)) == 0);

struct LinearScratch {
  float* raw;     // [kFour][F padded]: rows as floats, if they cannot be read in place
  float* phi_k;   // [kLinearChunk][F padded], or transposed [F padded][kStride]
  float* z;       // [F padded]: sum of phi(k) over the chunk alone
  float* values;  // [kLinearChunk][E padded]: if V cannot be read in place
  float* phi_q;   // panels [kTileRows][kStride] of kStride features each
};

HWY_INLINE LinearScratch lay_out(const LinearTask& t) {
  const std::int64_t features = t.widths.padded_features();
  LinearScratch scratch{};
  scratch.raw = t.scratch;
  scratch.phi_k = scratch.raw + kFour * features;
  scratch.z = scratch.phi_k + kLinearChunk * features;
  scratch.values = scratch.z + features;
  scratch.phi_q = scratch.values + kLinearChunk * t.widths.stride();
  return scratch;
}

// x > 0 ? x + 1 : exp(x). Max error 3 ULP for x >= -8, 1.3e-6 of the result below (without fused multiply-add 8 ULP and
// 4e-6); counts as 0 from -87.4 on. NaN gives NaN. The exponential is exp2_of of register_tile-inl.h with the factor
// log2(e) folded in. Four vectors go through each step together; one after the other would take a fifth longer.
HWY_INLINE void elu_plus_one(Vec (&x)[kFour]) {
  const F f;
  const I i;
  const Vec log2_e = hn::Set(f, 1.44269504088896340736F);
  const Vec magic = hn::Set(f, 12582912.0F);
  const Vec coefficients[] = {hn::Set(f, 0.009671512991189957F), hn::Set(f, 0.05550733581185341F),
                              hn::Set(f, 0.24022242426872253F), hn::Set(f, 0.6931470036506653F), hn::Set(f, 1.0F)};
  Vec t[kFour], shifted[kFour], p[kFour];
#pragma GCC unroll 4
  for (int r = 0; r < kFour; ++r) t[r] = hn::Max(hn::Set(f, -88.0F), x[r]);
#pragma GCC unroll 4
  for (int r = 0; r < kFour; ++r) shifted[r] = hn::MulAdd(t[r], log2_e, magic);
#pragma GCC unroll 4
  for (int r = 0; r < kFour; ++r) t[r] = hn::MulSub(t[r], log2_e, hn::Sub(shifted[r], magic));
#pragma GCC unroll 4
  for (int r = 0; r < kFour; ++r) p[r] = hn::Set(f, 0.001326472731307149F);
#pragma GCC unroll 5
  for (const Vec c : coefficients) {
#pragma GCC unroll 4
    for (int r = 0; r < kFour; ++r) p[r] = hn::MulAdd(p[r], t[r], c);
  }
#pragma GCC unroll 4
  for (int r = 0; r < kFour; ++r) {  // integers to the end, so that AVX-512 adds and chooses at once
    const auto power = hn::Add(hn::BitCast(i, p[r]), hn::ShiftLeft<23>(hn::BitCast(i, shifted[r])));
    const auto line = hn::BitCast(i, hn::Add(x[r], hn::Set(f, 1.0F)));
    x[r] = hn::BitCast(f, hn::IfThenElse(hn::RebindMask(i, hn::Le(x[r], hn::Zero(f))), power, line));
  }
}

template <Phi kPhi>
HWY_INLINE void apply(Vec (&x)[kFour]) {
  if constexpr (kPhi == Phi::elu_plus_one) elu_plus_one(x);
  if constexpr (kPhi == Phi::relu) {
#pragma GCC unroll 4
    for (int r = 0; r < kFour; ++r) x[r] = hn::Max(hn::Zero(F()), x[r]);  // this order keeps NaN
  }
}

// Up to four rows, each readable up to a whole number of vectors.
struct FourRows {
  const float* first;
  std::int64_t stride;
  std::int64_t rows;
};

// Rows [first, first + 4), as far as they are before `end`. Prefetches the rows kAhead later: with inputs beyond the
// L2 cache this saves 3%, and it costs nothing within. (The same for V would save 1% there and cost 1% within.)
HWY_INLINE FourRows four_rows(const LinearTask& t, const Rows& from, std::int64_t first, std::int64_t end, float* raw) {
  constexpr std::int64_t kAhead = 12;
  const std::int64_t features = t.widths.features;
  const std::int64_t padded = t.widths.padded_features();
  const std::int64_t rows = std::min<std::int64_t>(end - first, kFour);
  const std::int64_t bytes = from.type == Element::float32 ? 4 : 2;
  for (std::int64_t row = first + kAhead; row < std::min(end, first + kAhead + kFour); ++row) {
    const char* at = static_cast<const char*>(from.data) + row * from.stride * bytes;
    for (std::int64_t n = 0; n < features * bytes; n += 64) hwy::Prefetch(at + n);
  }
  if (from.type == Element::float32 && features % lanes_of_float() == 0) {
    return {static_cast<const float*>(from.data) + first * from.stride, from.stride, rows};
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    scale_row(from, first + r, features, 1.0F, raw + r * padded);
    std::fill(raw + r * padded + features, raw + (r + 1) * padded, 0.0F);
  }
  return {raw, padded, rows};
}

// Calls take(d, x) for every vector of features: x[r] holds features [d, d + lanes) of phi of row r; 0 where there is
// no row or no feature.
template <Phi kPhi, class Take>
HWY_INLINE void map_four_by(const FourRows& four, std::int64_t features, Take& take) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  std::int64_t d = 0;
  if (HWY_LIKELY(four.rows == kFour)) {
    for (; d + lanes <= features; d += lanes) {
      Vec x[kFour];
#pragma GCC unroll 4
      for (int r = 0; r < kFour; ++r) x[r] = hn::LoadU(f, four.first + r * four.stride + d);
      apply<kPhi>(x);
      take(d, x);
    }
  }
  for (; d < features; d += lanes) {
    Vec x[kFour];
    for (int r = 0; r < kFour; ++r) x[r] = r < four.rows ? hn::LoadU(f, four.first + r * four.stride + d) : hn::Zero(f);
    apply<kPhi>(x);
    const auto present = hn::FirstN(f, static_cast<std::size_t>(features - d));
    for (int r = 0; r < kFour; ++r) x[r] = r < four.rows ? hn::IfThenElseZero(present, x[r]) : hn::Zero(f);
    take(d, x);
  }
}

template <class Take>
HWY_INLINE void map_four(Phi phi, const FourRows& four, std::int64_t features, const Take& take) {
  switch (phi) {
    case Phi::elu_plus_one:
      return map_four_by<Phi::elu_plus_one>(four, features, take);
    case Phi::relu:
      return map_four_by<Phi::relu>(four, features, take);
    case Phi::identity:
      return map_four_by<Phi::identity>(four, features, take);
  }
}

HWY_INLINE void add_to_z(std::int64_t d, const Vec (&x)[kFour], float* z) {
  const F f;
  hn::Store(hn::Add(hn::Load(f, z + d), hn::Add(hn::Add(x[0], x[1]), hn::Add(x[2], x[3]))), f, z + d);
}

struct LinearValues {
  const float* data;
  std::int64_t stride;
};

// Keys [first, first + count) and their values.
struct KeyChunk {
  std::int64_t first;
  std::int64_t count;
  LinearValues v;
};

// phi_k of a chunk, one row per key, and z.
HWY_NOINLINE void map_keys(const LinearTask& t, const LinearKeys& keys, const LinearScratch& scratch,
                           const KeyChunk& chunk) {
  const std::int64_t stride = t.widths.padded_features();
  std::fill_n(scratch.z, stride, 0.0F);
  for (std::int64_t key = 0; key < chunk.count; key += kFour) {
    const FourRows four = four_rows(t, keys.k, chunk.first + key, keys.count, scratch.raw);
    float* to = scratch.phi_k + key * stride;
    map_four(t.phi, four, t.widths.features, [&](std::int64_t d, const Vec(&x)[kFour]) HWY_ATTR {
      add_to_z(d, x, scratch.z);
#pragma GCC unroll 4
      for (int r = 0; r < kFour; ++r) hn::Store(x[r], F(), to + r * stride + d);
    });
  }
}

// Stores block b of v, four numbers, to row 4 b of `to`.
template <class D>
HWY_INLINE void store_blocks(D d, hn::Vec<D> v, float* to) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    hn::Store(v, d, to);
  } else {
    const hn::Half<D> half;
    store_blocks(half, hn::LowerHalf(half, v), to);
    store_blocks(half, hn::UpperHalf(half, v), to + static_cast<std::int64_t>(hn::Lanes(half)) * kStride);
  }
}

// phi_k of a chunk transposed, one row per feature, and z.
HWY_NOINLINE void map_keys_transposed(const LinearTask& t, const LinearKeys& keys, const LinearScratch& scratch,
                                      const KeyChunk& chunk) {
  const F f;
  const hn::Repartition<double, F> pairs;
  std::fill_n(scratch.z, t.widths.padded_features(), 0.0F);
  for (std::int64_t key = 0; key < chunk.count; key += kFour) {
    const FourRows four = four_rows(t, keys.k, chunk.first + key, keys.count, scratch.raw);
    map_four(t.phi, four, t.widths.features, [&](std::int64_t d, const Vec(&x)[kFour]) HWY_ATTR {
      add_to_z(d, x, scratch.z);
      const auto a = hn::BitCast(pairs, hn::InterleaveLower(f, x[0], x[1]));
      const auto b = hn::BitCast(pairs, hn::InterleaveLower(f, x[2], x[3]));
      const auto c = hn::BitCast(pairs, hn::InterleaveUpper(f, x[0], x[1]));
      const auto e = hn::BitCast(pairs, hn::InterleaveUpper(f, x[2], x[3]));
      float* to = scratch.phi_k + d * kStride + key;
      store_blocks(f, hn::BitCast(f, hn::InterleaveLower(pairs, a, b)), to);
      store_blocks(f, hn::BitCast(f, hn::InterleaveUpper(pairs, a, b)), to + kStride);
      store_blocks(f, hn::BitCast(f, hn::InterleaveLower(pairs, c, e)), to + 2 * kStride);
      store_blocks(f, hn::BitCast(f, hn::InterleaveUpper(pairs, c, e)), to + 3 * kStride);
    });
  }
}

// The values of a chunk, in place or copied; each row is readable up to a whole number of vectors. If `whole`, there
// are kLinearChunk rows to read; those without a key are 0.
HWY_INLINE LinearValues read_values(const LinearTask& t, const LinearKeys& keys, float* copy, const KeyChunk& chunk,
                                    bool whole) {
  const std::int64_t width = t.widths.values;
  const bool ready = keys.v.type == Element::float32 && width % lanes_of_float() == 0;
  if (ready && (chunk.count == kLinearChunk || !whole)) {
    return {static_cast<const float*>(keys.v.data) + chunk.first * keys.v.stride, keys.v.stride};
  }
  const std::int64_t stride = t.widths.stride();
  for (std::int64_t key = 0; key < chunk.count; ++key) {
    scale_row(keys.v, chunk.first + key, width, 1.0F, copy + key * stride);
    std::fill(copy + key * stride + width, copy + (key + 1) * stride, 0.0F);
  }
  if (whole) std::fill(copy + chunk.count * stride, copy + kLinearChunk * stride, 0.0F);
  return {copy, stride};
}

}  // namespace
}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
