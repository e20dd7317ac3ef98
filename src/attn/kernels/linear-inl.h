// kernels/linear-inl.h - chunks of keys and values on their way into linear attention: feature maps and layouts.
#if defined(ATTN_KERNELS_LINEAR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_KERNELS_LINEAR_INL_H_
#undef ATTN_KERNELS_LINEAR_INL_H_
#else
#define ATTN_KERNELS_LINEAR_INL_H_
#endif

#include <algorithm>

#include "kernels/linear.h"
#include "kernels/micro-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

constexpr int kStride = static_cast<int>(kLinearChunk);  // of all that is a chunk wide; also features in a panel
constexpr int kFour = 4;                                 // rows that go through phi at once
static_assert(kTileRows % kFour == 0 && kLinearChunk % (2 * HWY_MAX_BYTES / sizeof(float)) == 0);

struct LinearScratch {
  float* raw;     // [kFour][F padded]: rows as floats, where they are not so already
  float* phi_k;   // [kLinearChunk][F padded], or transposed [F padded][kLinearChunk]
  float* z;       // [F padded]: of the chunk alone
  float* values;  // [kLinearChunk][E padded]: where V cannot be read in its place
  float* phi_q;   // panels [kTileRows][kStride] of kStride features each
};

HWY_INLINE LinearScratch lay_out(const Linear& t) {
  const std::int64_t features = t.widths.padded_features();
  LinearScratch scratch{};
  scratch.raw = t.scratch;
  scratch.phi_k = scratch.raw + kFour * features;
  scratch.z = scratch.phi_k + kLinearChunk * features;
  scratch.values = scratch.z + features;
  scratch.phi_q = scratch.values + kLinearChunk * t.widths.stride();
  return scratch;
}

// The exponential of a positive x is rubbish, and not looked at. NaN gives NaN, whichever its sign.
template <Phi kPhi>
HWY_INLINE Vec phi_of(Vec x) {
  const F f;
  if constexpr (kPhi == Phi::elu_plus_one) {
    constexpr float kLog2E = 1.44269504088896340736F;
    const Vec power = exp2_below_zero(hn::Mul(hn::Set(f, kLog2E), x));
    return hn::IfNegativeThenElse(x, power, hn::Add(x, hn::Set(f, 1.0F)));
  }
  if constexpr (kPhi == Phi::relu) return hn::Max(hn::Zero(f), x);  // this order keeps NaN
  return x;
}

// Up to four rows, each readable up to a whole number of vectors. Those that are missing are the first one again.
struct FourRows {
  const float* at[kFour];
  std::int64_t rows;
};

HWY_INLINE FourRows four_rows(const Rows& from, std::int64_t first, std::int64_t rows, const Linear& t, float* raw) {
  const std::int64_t features = t.widths.features;
  const bool ready = from.type == Element::float32 && features % lanes_of_float() == 0;
  FourRows four{{}, std::min<std::int64_t>(rows, kFour)};
  for (int r = 0; r < kFour; ++r) {
    const std::int64_t row = first + (r < rows ? r : 0);
    if (ready) {
      four.at[r] = static_cast<const float*>(from.data) + row * from.stride;
    } else {
      float* to = raw + r * t.widths.padded_features();
      scale_row(from, row, features, 1.0F, to);
      std::fill(to + features, to + t.widths.padded_features(), 0.0F);
      four.at[r] = to;
    }
  }
  return four;
}

// take(d, x): x holds features [d, d + a vector) of phi of the four rows; 0 where there is no row or no feature.
template <Phi kPhi, class Take>
HWY_INLINE void map_four_by(const FourRows& four, std::int64_t features, Take& take) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  for (std::int64_t d = 0; d < features; d += lanes) {
    Vec x[kFour];
#pragma GCC unroll 4
    for (int r = 0; r < kFour; ++r) x[r] = phi_of<kPhi>(hn::LoadU(f, four.at[r] + d));
    if (HWY_UNLIKELY(four.rows < kFour || d + lanes > features)) {
      const auto present = hn::FirstN(f, static_cast<std::size_t>(features - d));
#pragma GCC unroll 4
      for (int r = 0; r < kFour; ++r) x[r] = r < four.rows ? hn::IfThenElseZero(present, x[r]) : hn::Zero(f);
    }
    take(d, x);
  }
}

template <class Take>
HWY_INLINE void map_four(Phi phi, const FourRows& four, std::int64_t features, Take&& take) {
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

// phi of a chunk of keys, a row a key.
HWY_NOINLINE void map_keys(const Linear& t, const LinearKeys& keys, const LinearScratch& scratch, std::int64_t first,
                           std::int64_t count) {
  const std::int64_t stride = t.widths.padded_features();
  std::fill_n(scratch.z, stride, 0.0F);
  for (std::int64_t key = 0; key < count; key += kFour) {
    const FourRows four = four_rows(keys.k, first + key, count - key, t, scratch.raw);
    map_four(t.phi, four, t.widths.features, [&](std::int64_t d, const Vec(&x)[kFour]) HWY_ATTR {
      add_to_z(d, x, scratch.z);
#pragma GCC unroll 4
      for (int r = 0; r < kFour; ++r) hn::Store(x[r], F(), scratch.phi_k + (key + r) * stride + d);
    });
  }
}

// Block b of v, four numbers, goes to row 4 b of `to`.
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

// The same, a row a feature.
HWY_NOINLINE void map_keys_transposed(const Linear& t, const LinearKeys& keys, const LinearScratch& scratch,
                                      std::int64_t first, std::int64_t count) {
  const F f;
  const hn::Repartition<double, F> pairs;
  std::fill_n(scratch.z, t.widths.padded_features(), 0.0F);
  for (std::int64_t key = 0; key < count; key += kFour) {
    const FourRows four = four_rows(keys.k, first + key, count - key, t, scratch.raw);
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

struct LinearValues {
  const float* data;
  std::int64_t stride;
};

// The values of a chunk, each row readable up to a whole number of vectors. There are always kLinearChunk rows to read
// if `whole` asks for it; those without a key are 0.
HWY_INLINE LinearValues read_values(const Linear& t, const LinearKeys& keys, float* copy, std::int64_t first,
                                    std::int64_t count, bool whole) {
  const std::int64_t width = t.widths.values;
  const bool ready = keys.v.type == Element::float32 && width % lanes_of_float() == 0;
  if (ready && (count == kLinearChunk || !whole)) {
    return {static_cast<const float*>(keys.v.data) + first * keys.v.stride, keys.v.stride};
  }
  const std::int64_t stride = t.widths.stride();
  for (std::int64_t key = 0; key < count; ++key) {
    scale_row(keys.v, first + key, width, 1.0F, copy + key * stride);
    std::fill(copy + key * stride + width, copy + (key + 1) * stride, 0.0F);
  }
  if (whole) std::fill(copy + count * stride, copy + kLinearChunk * stride, 0.0F);
  return {copy, stride};
}

}  // namespace
}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
