// engine/kernels/rows/row_ops.cc - activations, norms and look-ups, row by row (see row_ops.h). All of them are bound
// by memory, or nearly so.
#include "engine/kernels/rows/row_ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/kernels/rows/row_ops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "engine/kernels/common/denormals.h"
#include "engine/kernels/common/register_tile-inl.h"
#include "engine/kernels/rows/activation-inl.h"
#include "engine/kernels/rows/row_steps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

template <Activation kFunction>
HWY_INLINE void activate_row(const float* from, std::int64_t width, float* x) {
  const std::int64_t lanes = lanes_of_float();
  std::int64_t d = 0;
  for (; d + lanes <= width; d += lanes) hn::StoreU(activated<kFunction>(hn::LoadU(F(), from + d)), F(), x + d);
  if (d < width) store_first(activated<kFunction>(load_rest(from + d, width - d)), width - d, x + d);
}

template <Activation kFunction>
HWY_INLINE void gate_row(float* x, const float* up, std::int64_t width) {
  const std::int64_t lanes = lanes_of_float();
  std::int64_t d = 0;
  for (; d + lanes <= width; d += lanes) {
    hn::StoreU(hn::Mul(activated<kFunction>(hn::LoadU(F(), x + d)), hn::LoadU(F(), up + d)), F(), x + d);
  }
  if (d < width) {
    const Vec y = activated<kFunction>(load_rest(x + d, width - d));
    store_first(hn::Mul(y, load_rest(up + d, width - d)), width - d, x + d);
  }
}

void activate_rows(const Activate& t) {
  const FlushDenormals guard;
  with_activation(t.function, [&]<Activation kFunction>() HWY_ATTR {
    for (std::int64_t r = 0; r < t.rows; ++r) {
      float* x = t.x.data + r * t.x.stride;
      if (t.up.data != nullptr) {
        gate_row<kFunction>(x, t.up.data + r * t.up.stride, t.width);
      } else {
        activate_row<kFunction>(t.from.data == nullptr ? x : t.from.data + r * t.from.stride, t.width, x);
      }
    }
  });
}

// ((x - mean) - correction) factor weight + bias
struct Normalizer {
  Vec mean, correction, factor;

  HWY_INLINE Vec operator()(Vec x, Vec weight, Vec bias) const {
    return hn::MulAdd(hn::Mul(hn::Sub(hn::Sub(x, mean), correction), factor), weight, bias);
  }
};

HWY_INLINE void normalize_row(const Normalize& t, const float* x, float* out) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  const Moments m = t.centered ? moments_of(x, t.width) : square_of(x, t.width);
  const Normalizer apply{hn::Set(f, m.mean), hn::Set(f, m.correction), hn::Set(f, 1 / std::sqrt(m.square + t.epsilon))};
  std::int64_t d = 0;
  if (t.bias != nullptr) {
    for (; d + lanes <= t.width; d += lanes) {
      const Vec y = apply(hn::LoadU(f, x + d), hn::LoadU(f, t.weight + d), hn::LoadU(f, t.bias + d));
      hn::StoreU(y, f, out + d);
    }
  } else {
    for (; d + lanes <= t.width; d += lanes) {
      hn::StoreU(apply(hn::LoadU(f, x + d), hn::LoadU(f, t.weight + d), hn::Zero(f)), f, out + d);
    }
  }
  if (const std::int64_t rest = t.width - d; rest > 0) {
    const Vec bias = t.bias != nullptr ? load_rest(t.bias + d, rest) : hn::Zero(f);
    store_first(apply(load_rest(x + d, rest), load_rest(t.weight + d, rest), bias), rest, out + d);
  }
}

void normalize_rows(const Normalize& t) {
  const FlushDenormals guard;
  for (std::int64_t r = 0; r < t.rows; ++r) normalize_row(t, t.x.data + r * t.x.stride, t.out.data + r * t.out.stride);
}

template <bool kAdd, typename T>
HWY_INLINE void gather_row(const T* HWY_RESTRICT from, std::int64_t width, float* HWY_RESTRICT to) {
  const std::int64_t lanes = lanes_of_float();
  std::int64_t d = 0;
  for (; d + lanes <= width; d += lanes) {
    Vec x = load_as_float(from + d);
    if constexpr (kAdd) x = hn::Add(hn::LoadU(F(), to + d), x);
    hn::StoreU(x, F(), to + d);
  }
  if (const std::int64_t rest = width - d; rest > 0) {
    Vec x = load_rest(from + d, rest);
    if constexpr (kAdd) x = hn::Add(load_rest(to + d, rest), x);
    store_first(x, rest, to + d);
  }
}

template <typename T>
HWY_INLINE void gather_as(const Gather& t) {
  for (std::int64_t r = 0; r < t.rows; ++r) {
    const std::int64_t row = t.ids != nullptr ? t.ids[r] : r;
    const T* from = static_cast<const T*>(t.table.data) + row * t.table.stride;
    float* to = t.out.data + r * t.out.stride;
    if (t.add) {
      gather_row<true>(from, t.width, to);
    } else {
      gather_row<false>(from, t.width, to);
    }
  }
}

void gather_rows(const Gather& t) {
  switch (t.table.type) {
    case Element::float32:
      return gather_as<float>(t);
    case Element::float16:
      return gather_as<hwy::float16_t>(t);
    case Element::bfloat16:
      return gather_as<hwy::bfloat16_t>(t);
  }
}

}  // namespace
}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {
HWY_EXPORT(activate_rows);
HWY_EXPORT(normalize_rows);
HWY_EXPORT(gather_rows);

void activate(const Activate& task) noexcept { HWY_DYNAMIC_DISPATCH(activate_rows)(task); }
void normalize(const Normalize& task) noexcept { HWY_DYNAMIC_DISPATCH(normalize_rows)(task); }
void gather(const Gather& task) noexcept { HWY_DYNAMIC_DISPATCH(gather_rows)(task); }
}  // namespace attn::kernels
#endif
