// engine/kernels/product/strips-inl.h - cuts the rows of a product into strips at most as high as the register tile.
#if defined(ATTN_ENGINE_KERNELS_PRODUCT_STRIPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_ENGINE_KERNELS_PRODUCT_STRIPS_INL_H_
#undef ATTN_ENGINE_KERNELS_PRODUCT_STRIPS_INL_H_
#else
#define ATTN_ENGINE_KERNELS_PRODUCT_STRIPS_INL_H_
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
