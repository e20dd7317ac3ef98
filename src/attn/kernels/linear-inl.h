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

// Rows that will be wanted soon, fetched a few at a time between products. The hardware's own guess comes too late: it
// sees rows only while they are read, all at once. With K and V beyond the second cache this saves a fifth.
class RowsAhead {
 public:
  RowsAhead() = default;
  HWY_INLINE RowsAhead(const Rows& rows, std::int64_t first, std::int64_t count, std::int64_t width) {
    const std::int64_t bytes = rows.type == Element::float32 ? 4 : 2;
    at_ = static_cast<const char*>(rows.data) + first * rows.stride * bytes;
    stride_ = rows.stride * bytes;
    rows_ = std::max<std::int64_t>(0, count);
    bytes_ = width * bytes;
  }
  HWY_INLINE void fetch(std::int64_t rows) {
    for (rows = std::min(rows, rows_), rows_ -= rows; rows > 0; --rows, at_ += stride_) {
      for (std::int64_t n = 0; n < bytes_; n += 64) __builtin_prefetch(at_ + n, 0, 2);
    }
  }

 private:
  const char* at_ = nullptr;
  std::int64_t stride_ = 0, rows_ = 0, bytes_ = 0;
};

// x > 0 ? x + 1 : exp(x), as max(x + 1, exp(min(x, 0))): exp is above its tangent. Max error 4 ULP where the result is
// at least 1e-4, 3e-6 of it below; 0 below e^-87. NaN gives NaN. As 2^t (micro-inl.h has the polynomial's story), but
// four at a time, step by step: one after the other they would take 9.4 cycles instead of 7.6.
HWY_INLINE void elu_plus_one(Vec (&x)[kFour]) {
  const F f;
  const I i;
  const Vec log2_e = hn::Set(f, 1.44269504088896340736F);
  const Vec magic = hn::Set(f, 12582912.0F);
  const Vec one = hn::Set(f, 1.0F);
  const float coefficients[] = {0.009671512991189957F, 0.05550733581185341F, 0.24022242426872253F, 0.6931470036506653F,
                                1.0F};
  Vec t[kFour], shifted[kFour], p[kFour];
#pragma GCC unroll 4
  for (int r = 0; r < kFour; ++r) t[r] = hn::Min(hn::Zero(f), hn::Max(hn::Set(f, -88.0F), x[r]));
#pragma GCC unroll 4
  for (int r = 0; r < kFour; ++r) shifted[r] = hn::MulAdd(t[r], log2_e, magic);
#pragma GCC unroll 4
  for (int r = 0; r < kFour; ++r) t[r] = hn::MulSub(t[r], log2_e, hn::Sub(shifted[r], magic));
#pragma GCC unroll 4
  for (int r = 0; r < kFour; ++r) p[r] = hn::Set(f, 0.001326472731307149F);
#pragma GCC unroll 5
  for (const float c : coefficients) {
#pragma GCC unroll 4
    for (int r = 0; r < kFour; ++r) p[r] = hn::MulAdd(p[r], t[r], hn::Set(f, c));
  }
#pragma GCC unroll 4
  for (int r = 0; r < kFour; ++r) {
    const auto power = hn::Add(hn::BitCast(i, p[r]), hn::ShiftLeft<23>(hn::BitCast(i, shifted[r])));
    x[r] = hn::Max(hn::BitCast(f, power), hn::Add(x[r], one));  // this order: x86 gives the second if one is NaN
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

HWY_INLINE FourRows four_rows(const Rows& from, std::int64_t first, std::int64_t rows, const Linear& t, float* raw) {
  const std::int64_t features = t.widths.features;
  const std::int64_t padded = t.widths.padded_features();
  rows = std::min<std::int64_t>(rows, kFour);
  if (from.type == Element::float32 && features % lanes_of_float() == 0) {
    return {static_cast<const float*>(from.data) + first * from.stride, from.stride, rows};
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    scale_row(from, first + r, features, 1.0F, raw + r * padded);
    std::fill(raw + r * padded + features, raw + (r + 1) * padded, 0.0F);
  }
  return {raw, padded, rows};
}

// take(d, x): x holds features [d, d + a vector) of phi of the four rows; 0 where there is no row or no feature.
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
