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

#ifndef KEYCHUNK
#define KEYCHUNK 128
#endif
#ifndef PFSTEP
#define PFSTEP 64
#endif
constexpr std::int64_t kMostKeys = KEYCHUNK;
struct LinearScratch {
  float* raw;      // [kFour][F padded]: rows as floats, where they are not so already
  float* keys[2];  // of a KeyChunk each
  float* values;   // [kLinearChunk][E padded]: where V cannot be read in its place
  float* phi_q;    // panels [kTileRows][kStride] of kStride features each
};

HWY_INLINE LinearScratch lay_out(const Linear& t) {
  const std::int64_t features = t.widths.padded_features();
  LinearScratch scratch{};
  scratch.raw = t.scratch;
  scratch.keys[0] = scratch.raw + kFour * features;
  scratch.keys[1] = scratch.keys[0] + (kMostKeys + 1) * features;
  scratch.values = scratch.keys[1] + (kMostKeys + 1) * features;
  scratch.phi_q = scratch.values + kMostKeys * t.widths.stride();
  return scratch;
}

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

HWY_INLINE void prefetch(const Rows& rows, std::int64_t row, std::int64_t width) {
  const std::int64_t bytes = rows.type == Element::float32 ? 4 : 2;
  const char* at = static_cast<const char*>(rows.data) + row * rows.stride * bytes;
  for (std::int64_t n = 0; n < width * bytes; n += PFSTEP) __builtin_prefetch(at + n, 0, 2);
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

// to[d, r] = x[r][d]; rows of `to` are kStride apart.
HWY_INLINE void store_transposed(const Vec (&x)[kFour], float* to) {
  const F f;
  const hn::Repartition<double, F> pairs;
  const auto a = hn::BitCast(pairs, hn::InterleaveLower(f, x[0], x[1]));
  const auto b = hn::BitCast(pairs, hn::InterleaveLower(f, x[2], x[3]));
  const auto c = hn::BitCast(pairs, hn::InterleaveUpper(f, x[0], x[1]));
  const auto d = hn::BitCast(pairs, hn::InterleaveUpper(f, x[2], x[3]));
  store_blocks(f, hn::BitCast(f, hn::InterleaveLower(pairs, a, b)), to);
  store_blocks(f, hn::BitCast(f, hn::InterleaveUpper(pairs, a, b)), to + kStride);
  store_blocks(f, hn::BitCast(f, hn::InterleaveLower(pairs, c, d)), to + 2 * kStride);
  store_blocks(f, hn::BitCast(f, hn::InterleaveUpper(pairs, c, d)), to + 3 * kStride);
}

// phi of a chunk of keys: [key][F padded], or, transposed, [F padded][kStride].
//
// It is computed a few keys at a time, between the products of the chunk before: so K is read at the pace at which
// memory delivers it, and not in bursts.
template <bool kTransposed>
class KeyChunk {
 public:
  HWY_INLINE KeyChunk(const Linear& t, const LinearKeys& keys, float* raw, float* to)
      : t_(&t), keys_(&keys), raw_(raw), z_(to), phi_(to + t.widths.padded_features()) {}

  // Chunk [first, first + at most `most`) comes next; there may be no key left.
  HWY_INLINE void start(std::int64_t first, std::int64_t most) {
    first_ = first;
    count_ = std::clamp<std::int64_t>(keys_->count - first, 0, most);
    done_ = 0;
    std::fill_n(z_, t_->widths.padded_features(), 0.0F);
  }
  [[nodiscard]] HWY_INLINE std::int64_t first() const { return first_; }
  [[nodiscard]] HWY_INLINE std::int64_t count() const { return count_; }
  [[nodiscard]] HWY_INLINE const float* phi() const { return phi_; }
  [[nodiscard]] HWY_INLINE const float* z() const { return z_; }  // the sum of phi over the chunk

  HWY_NOINLINE void map(std::int64_t keys) {
    const std::int64_t stride = t_->widths.padded_features();
    for (const std::int64_t end = std::min(count_, done_ + keys); done_ < end; done_ += kFour) {
      const FourRows four = four_rows(keys_->k, first_ + done_, count_ - done_, *t_, raw_);
      for (std::int64_t r = 0; r < four.rows; ++r) prefetch(keys_->v, first_ + done_ + r, t_->widths.values);
      float* z = z_;
      float* to = kTransposed ? phi_ + done_ : phi_ + done_ * stride;
      map_four(t_->phi, four, t_->widths.features, [=](std::int64_t d, const Vec(&x)[kFour]) HWY_ATTR {
        const F f;
        hn::Store(hn::Add(hn::Load(f, z + d), hn::Add(hn::Add(x[0], x[1]), hn::Add(x[2], x[3]))), f, z + d);
        if constexpr (kTransposed) {
          store_transposed(x, to + d * kStride);
        } else {
#pragma GCC unroll 4
          for (int r = 0; r < kFour; ++r) hn::Store(x[r], f, to + r * stride + d);
        }
      });
    }
  }

 private:
  const Linear* t_;
  const LinearKeys* keys_;
  float* raw_;
  float* z_;
  float* phi_;
  std::int64_t first_ = 0, count_ = 0, done_ = 0;
};

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
