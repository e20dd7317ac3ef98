// engine/kernels/attention/backward_keys.cc - the steps before and after the products of backward.cc: delta and lse of
// the rows, packing keys and values, writing dk and dv.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/kernels/attention/backward_keys.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "engine/kernels/attention/backward-inl.h"
#include "engine/kernels/common/denormals.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

void find_row_terms(const RowTerms& t) {
  const FlushDenormals guard;
  for (std::int64_t i = 0; i < t.rows; ++i) {
    float delta = dot(static_cast<const float*>(t.out.data) + i * t.out.stride,
                      static_cast<const float*>(t.d_out.data) + i * t.d_out.stride, t.value_width);
    if (t.d_lse != nullptr) delta -= t.d_lse[i * t.d_lse_stride];
    const float lse = t.lse[i * t.lse_stride];
    t.to_delta[i] = delta;
    // x - x is 0, or NaN if x is not finite: the weights of such a row become NaN.
    t.to_lse[i] = lse == kNever ? (delta - delta) - kNever : lse * kLog2E + (lse - lse) + (delta - delta);
  }
}

void begin(const KeyBlock& b) {
  const FlushDenormals guard;
  const KeyMemory m = lay_out_keys(b);
  pack_panels(b.k, b.keys, b.width, m.key_panels);
  pack_panels(b.v, b.keys, b.value_width, m.value_panels);
  copy_columns({b.k, 0, b.keys, b.width, b.scale}, m.keys, m.key_columns);
  std::fill_n(m.dk, column_floats(m.keys, b.width), 0.0F);
  std::fill_n(m.dv, column_floats(m.keys, b.value_width), 0.0F);
}

HWY_INLINE void write_columns(const float* columns, std::int64_t rows, const KeyBlock& b, std::int64_t width,
                              float factor, float* to, std::int64_t stride) {
  for (std::int64_t j = 0; j < b.keys; ++j) {
    for (std::int64_t d = 0; d < width; d += kPanel) {
      scale_row(columns + d * rows + j * kPanel, std::min<std::int64_t>(kPanel, width - d), factor,
                to + j * stride + d);
    }
  }
}

void end(const EndKeys& t) {
  const FlushDenormals guard;
  const KeyMemory m = lay_out_keys(t.block);
  write_columns(m.dk, m.keys, t.block, t.block.width, t.dk_scale, t.dk, t.dk_stride);
  write_columns(m.dv, m.keys, t.block, t.block.value_width, 1.0F, t.dv, t.dv_stride);
}

std::int64_t block_floats(std::int64_t keys, std::int64_t width, std::int64_t value_width) {
  return lay_out_keys(nullptr, keys, width, value_width).floats;
}

}  // namespace
}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {
HWY_EXPORT(find_row_terms);
HWY_EXPORT(block_floats);
HWY_EXPORT(begin);
HWY_EXPORT(end);

void row_terms(const RowTerms& task) noexcept { HWY_DYNAMIC_DISPATCH(find_row_terms)(task); }
std::int64_t key_block_floats(std::int64_t keys, std::int64_t width, std::int64_t value_width) noexcept {
  return HWY_DYNAMIC_DISPATCH(block_floats)(keys, width, value_width);
}
void begin_keys(const KeyBlock& block) noexcept { HWY_DYNAMIC_DISPATCH(begin)(block); }
void end_keys(const EndKeys& task) noexcept { HWY_DYNAMIC_DISPATCH(end)(task); }
}  // namespace attn::kernels
#endif
