// engine/kernels/attention/dropout-inl.h - dropout_hash of dropout.h, one vector at a time.
#if defined(ATTN_ENGINE_KERNELS_ATTENTION_DROPOUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_ENGINE_KERNELS_ATTENTION_DROPOUT_INL_H_
#undef ATTN_ENGINE_KERNELS_ATTENTION_DROPOUT_INL_H_
#else
#define ATTN_ENGINE_KERNELS_ATTENTION_DROPOUT_INL_H_
#endif

#include "engine/kernels/attention/dropout.h"
#include "engine/kernels/common/register_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

// dropped(j): the mask of the columns from j on, one vector, that dropout sets to 0 in row i.
class Dropped {
 public:
  HWY_INLINE Dropped(const DropoutHash& dropout, std::int64_t i)
      : key_(dropout_row_key(dropout.seed, dropout.first_row + i)),
        first_(dropout.first_key),
        threshold_(dropout.threshold) {}

  HWY_INLINE hn::Mask<F> operator()(std::int64_t j) const {
    const U u;
    const auto mix1 = hn::Set(u, kDropoutMix1);
    const auto before = hn::Set(u, static_cast<std::uint32_t>(key_));
    auto x = hn::Add(hn::Mul(hn::Iota(u, static_cast<std::uint32_t>(first_ + j)), hn::Set(u, kDropoutStep)), before);
    x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), mix1);
    x = hn::Mul(hn::Xor(x, hn::ShiftRight<15>(x)), hn::Set(u, kDropoutMix2));
    x = hn::Xor(hn::Xor(x, hn::ShiftRight<15>(x)), hn::Set(u, static_cast<std::uint32_t>(key_ >> 32U)));
    x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), mix1);
    x = hn::Xor(x, hn::ShiftRight<15>(x));
    return hn::RebindMask(F(), hn::Lt(x, hn::Set(u, threshold_)));
  }

 private:
  std::uint64_t key_;
  std::int64_t first_;
  std::uint32_t threshold_;
};

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
