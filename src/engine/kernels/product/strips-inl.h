// engine/kernels/product/strips-inl.h - how the rows of a product are cut into strips, each as high as the register
// tile or lower.
#if defined(ATTN_KERNELS_STRIPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_KERNELS_STRIPS_INL_H_
#undef ATTN_KERNELS_STRIPS_INL_H_
#else
#define ATTN_KERNELS_STRIPS_INL_H_
#endif

#include "engine/kernels/common/register_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

// Strips differ in height by at most one row.
HWY_INLINE std::int64_t count_strips(std::int64_t rows) { return (rows + kRows - 1) / kRows; }
HWY_INLINE std::int64_t first_row(std::int64_t rows, std::int64_t strip) { return rows * strip / count_strips(rows); }

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
