// engine/kernels/rows/row_backward.cc - derivatives of activations and norms, row by row (see row_backward.h).
#include "engine/kernels/rows/row_backward.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/kernels/rows/row_backward.cc"
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

// The bound is the first operand of Min and Max: x86 returns the second one if either is NaN.
HWY_INLINE Vec within(Vec x, float bound) {
  const F f;
  return hn::Min(hn::Set(f, bound), hn::Max(hn::Set(f, -bound), x));
}

// Phi(x) + x phi(x) = g(t) left of 0 and 1 - g(t) right of it, where t = |x| and g(t) = Q(t) - t phi(t). g(t) e^(t^2/2)
// is smooth: the polynomial of degree 10 with p(0) = 1/2 keeps p(t) e^(-t^2/2) within 8e-8 of g(t) (weighted least
// squares, reweighted until the error was level over [0, 6.5]; beyond it both vanish).
HWY_INLINE Vec gelu_slope(Vec x) {
  const F f;
  const Vec t = hn::Min(hn::Set(f, 15.0F), hn::Abs(x));
  Vec p = hn::MulAdd(t, hn::Set(f, 1.6782458195038922e-06F), hn::Set(f, -3.6040337895100206e-05F));
  p = hn::MulAdd(p, t, hn::Set(f, 0.0003459864492384057F));
  p = hn::MulAdd(p, t, hn::Set(f, -0.002000306725362392F));
  p = hn::MulAdd(p, t, hn::Set(f, 0.008002666914881626F));
  p = hn::MulAdd(p, t, hn::Set(f, -0.024410129927294678F));
  p = hn::MulAdd(p, t, hn::Set(f, 0.06124438021379987F));
  p = hn::MulAdd(p, t, hn::Set(f, -0.13256259679982454F));
  p = hn::MulAdd(p, t, hn::Set(f, 0.24993102232997305F));
  p = hn::MulAdd(p, t, hn::Set(f, -0.7978806344978854F));
  p = hn::MulAdd(p, t, hn::Set(f, 0.5F));
  const Vec g = hn::Mul(p, exp2_of(hn::Mul(hn::Mul(t, t), hn::Set(f, -0.5F * kLog2E))));
  return hn::IfThenElse(hn::Gt(x, hn::Zero(f)), hn::Sub(hn::Set(f, 1.0F), g), g);
}

// The derivative of x sigmoid(u(x)) from s = sigmoid(u) and u': s + x s (1 - s) u'.
HWY_INLINE Vec sigmoid_slope(Vec x, Vec s, Vec u_slope) {
  const Vec rest = hn::Sub(hn::Set(F(), 1.0F), s);
  return hn::MulAdd(hn::Mul(hn::Mul(x, s), rest), u_slope, s);
}

HWY_INLINE Vec silu_slope(Vec x) {
  const F f;
  x = within(x, 87.0F);
  const Vec one = hn::Set(f, 1.0F);
  return sigmoid_slope(x, times_sigmoid(one, hn::Mul(x, hn::Set(f, -kLog2E))), one);
}

HWY_INLINE Vec gelu_tanh_slope(Vec x) {
  const F f;
  constexpr float kTwice = 2 * 0.7978845608028654F;
  x = within(x, 9.9F);
  const Vec square = hn::Mul(x, x);
  const Vec minus_u =
      hn::Mul(x, hn::MulAdd(square, hn::Set(f, -0.044715F * kTwice * kLog2E), hn::Set(f, -kTwice * kLog2E)));
  const Vec slope = hn::MulAdd(square, hn::Set(f, 3 * 0.044715F * kTwice), hn::Set(f, kTwice));
  return sigmoid_slope(x, times_sigmoid(hn::Set(f, 1.0F), minus_u), slope);
}

template <Activation kFunction>
HWY_INLINE Vec slope_of(Vec x) {
  const F f;
  const Vec one = hn::Set(f, 1.0F);
  if constexpr (kFunction == Activation::relu) return hn::IfThenElseZero(hn::Gt(x, hn::Zero(f)), one);
  if constexpr (kFunction == Activation::gelu) return gelu_slope(x);
  if constexpr (kFunction == Activation::gelu_tanh) return gelu_tanh_slope(x);
  if constexpr (kFunction == Activation::silu) return silu_slope(x);
  if constexpr (kFunction == Activation::tanh) {
    const Vec y = tanh_of(x);
    return hn::NegMulAdd(y, y, one);
  }
  return one;
}

template <Activation kFunction>
HWY_INLINE void slope_row(const float* x, const float* dy, std::int64_t width, float* dx) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  std::int64_t d = 0;
  for (; d + lanes <= width; d += lanes) {
    hn::StoreU(hn::Mul(slope_of<kFunction>(hn::LoadU(f, x + d)), hn::LoadU(f, dy + d)), f, dx + d);
  }
  if (const std::int64_t rest = width - d; rest > 0) {
    store_first(hn::Mul(slope_of<kFunction>(load_rest(x + d, rest)), load_rest(dy + d, rest)), rest, dx + d);
  }
}

struct GateRow {
  const float *x, *dy, *up;
  float *dx, *d_up;
};

template <Activation kFunction>
HWY_INLINE void gate_slope_row(const GateRow& r, std::int64_t width) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  std::int64_t d = 0;
  for (; d + lanes <= width; d += lanes) {
    const Vec x = hn::LoadU(f, r.x + d), dy = hn::LoadU(f, r.dy + d);
    const Vec by_gate = hn::Mul(dy, hn::LoadU(f, r.up + d));
    hn::StoreU(hn::Mul(dy, activated<kFunction>(x)), f, r.d_up + d);
    hn::StoreU(hn::Mul(slope_of<kFunction>(x), by_gate), f, r.dx + d);
  }
  if (const std::int64_t rest = width - d; rest > 0) {
    const Vec x = load_rest(r.x + d, rest), dy = load_rest(r.dy + d, rest);
    const Vec by_gate = hn::Mul(dy, load_rest(r.up + d, rest));
    store_first(hn::Mul(dy, activated<kFunction>(x)), rest, r.d_up + d);
    store_first(hn::Mul(slope_of<kFunction>(x), by_gate), rest, r.dx + d);
  }
}

void activate_backward_rows(const ActivateBackward& t) {
  const FlushDenormals guard;
  with_activation(t.function, [&]<Activation kFunction>() HWY_ATTR {
    for (std::int64_t r = 0; r < t.rows; ++r) {
      const float* x = t.x.data + r * t.x.stride;
      const float* dy = t.dy.data + r * t.dy.stride;
      float* dx = t.dx.data + r * t.dx.stride;
      if (t.up.data != nullptr) {
        gate_slope_row<kFunction>({x, dy, t.up.data + r * t.up.stride, dx, t.d_up.data + r * t.d_up.stride}, t.width);
      } else {
        slope_row<kFunction>(x, dy, t.width, dx);
      }
    }
  });
}

// The gradient of a norm: dx = factor (dy weight - mean(dy weight) - n mean(dy weight n)), where n is the normalized
// row; without the first mean if not centered.
class NormRow {
 public:
  HWY_INLINE NormRow(const NormalizeBackward& t, std::int64_t r)
      : t_(t), x_(t.x.data + r * t.x.stride), dy_(t.dy.data + r * t.dy.stride), dx_(t.dx.data + r * t.dx.stride) {
    const Moments m = t.centered ? moments_of(x_, t.width) : square_of(x_, t.width);
    mean_ = hn::Set(F(), m.mean);
    correction_ = hn::Set(F(), m.correction);
    factor_ = hn::Set(F(), 1 / std::sqrt(m.square + t.epsilon));
  }

  HWY_INLINE void run() {
    const F f;
    const std::int64_t lanes = lanes_of_float();
    const std::int64_t whole = t_.width / lanes * lanes, rest = t_.width - whole;
    Vec sum = hn::Zero(f), product = hn::Zero(f);
    for (std::int64_t d = 0; d < whole; d += lanes) {
      const Vec dy = hn::LoadU(f, dy_ + d), n = normalized(hn::LoadU(f, x_ + d));
      hn::StoreU(hn::MulAdd(dy, n, hn::LoadU(f, t_.d_weight + d)), f, t_.d_weight + d);
      if (t_.d_bias != nullptr) hn::StoreU(hn::Add(dy, hn::LoadU(f, t_.d_bias + d)), f, t_.d_bias + d);
      const Vec inner = hn::Mul(dy, hn::LoadU(f, t_.weight + d));
      sum = hn::Add(sum, inner);
      product = hn::MulAdd(inner, n, product);
    }
    if (rest > 0) {
      const Vec dy = load_rest(dy_ + whole, rest), n = normalized(load_rest(x_ + whole, rest));
      store_first(hn::MulAdd(dy, n, load_rest(t_.d_weight + whole, rest)), rest, t_.d_weight + whole);
      if (t_.d_bias != nullptr) {
        store_first(hn::Add(dy, load_rest(t_.d_bias + whole, rest)), rest, t_.d_bias + whole);
      }
      const Vec inner = hn::Mul(dy, load_rest(t_.weight + whole, rest));
      sum = hn::Add(sum, inner);
      product = hn::MulAdd(inner, n, product);
    }
    const Vec share = hn::Set(f, 1 / static_cast<float>(t_.width));
    sum_ = t_.centered ? hn::Mul(share, hn::SumOfLanes(f, sum)) : hn::Zero(f);
    product_ = hn::Mul(share, hn::SumOfLanes(f, product));
    write(whole, rest);
  }

 private:
  HWY_INLINE Vec normalized(Vec x) const { return hn::Mul(hn::Sub(hn::Sub(x, mean_), correction_), factor_); }
  HWY_INLINE Vec gradient(Vec x, Vec dy, Vec weight) const {
    return hn::Mul(factor_, hn::NegMulAdd(normalized(x), product_, hn::Sub(hn::Mul(dy, weight), sum_)));
  }

  HWY_INLINE void write(std::int64_t whole, std::int64_t rest) const {
    const F f;
    for (std::int64_t d = 0; d < whole; d += lanes_of_float()) {
      Vec dx = gradient(hn::LoadU(f, x_ + d), hn::LoadU(f, dy_ + d), hn::LoadU(f, t_.weight + d));
      if (t_.add) dx = hn::Add(hn::LoadU(f, dx_ + d), dx);
      hn::StoreU(dx, f, dx_ + d);
    }
    if (rest == 0) return;
    Vec dx = gradient(load_rest(x_ + whole, rest), load_rest(dy_ + whole, rest), load_rest(t_.weight + whole, rest));
    if (t_.add) dx = hn::Add(load_rest(dx_ + whole, rest), dx);
    store_first(dx, rest, dx_ + whole);
  }

  const NormalizeBackward& t_;
  const float *x_, *dy_;
  float* dx_;
  Vec mean_, correction_, factor_;
  Vec sum_, product_;  // means of dy weight, and of dy weight n
};

void normalize_backward_rows(const NormalizeBackward& t) {
  const FlushDenormals guard;
  for (std::int64_t r = 0; r < t.rows; ++r) NormRow(t, r).run();
}

// Sums kVectors vectors of columns from column d on. If `real` is less than a vector, only so many columns exist.
template <int kVectors>
HWY_INLINE void add_stretch(const AddColumns& t, std::int64_t d, std::int64_t real) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  Vec sums[kVectors];
  for (Vec& sum : sums) sum = hn::Zero(f);
  if (real < lanes) {
    for (std::int64_t r = 0; r < t.rows; ++r) {
      sums[0] = hn::Add(sums[0], load_rest(t.x.data + r * t.x.stride + d, real));
    }
    return store_first(hn::Add(load_rest(t.to + d, real), sums[0]), real, t.to + d);
  }
  for (std::int64_t r = 0; r < t.rows; ++r) {
    const float* x = t.x.data + r * t.x.stride + d;
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n) sums[n] = hn::Add(sums[n], hn::LoadU(f, x + n * lanes));
  }
  for (int n = 0; n < kVectors; ++n) {
    hn::StoreU(hn::Add(hn::LoadU(f, t.to + d + n * lanes), sums[n]), f, t.to + d + n * lanes);
  }
}

void add_columns_of(const AddColumns& t) {
  const FlushDenormals guard;
  const std::int64_t lanes = lanes_of_float();
  std::int64_t d = 0;
  for (; d + 8 * lanes <= t.width; d += 8 * lanes) add_stretch<8>(t, d, lanes);
  for (; d + lanes <= t.width; d += lanes) add_stretch<1>(t, d, lanes);
  if (d < t.width) add_stretch<1>(t, d, t.width - d);
}

void scatter_rows(const Scatter& t) {
  const FlushDenormals guard;
  const F f;
  const std::int64_t lanes = lanes_of_float();
  for (std::int64_t r = 0; r < t.rows; ++r) {
    const float* x = t.x.data + r * t.x.stride;
    float* to = t.table.data + t.ids[r] * t.table.stride;
    std::int64_t d = 0;
    for (; d + lanes <= t.width; d += lanes) hn::StoreU(hn::Add(hn::LoadU(f, to + d), hn::LoadU(f, x + d)), f, to + d);
    for (; d < t.width; ++d) to[d] += x[d];
  }
}

}  // namespace
}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {
HWY_EXPORT(activate_backward_rows);
HWY_EXPORT(normalize_backward_rows);
HWY_EXPORT(add_columns_of);
HWY_EXPORT(scatter_rows);

void activate_backward(const ActivateBackward& task) noexcept { HWY_DYNAMIC_DISPATCH(activate_backward_rows)(task); }
void normalize_backward(const NormalizeBackward& task) noexcept { HWY_DYNAMIC_DISPATCH(normalize_backward_rows)(task); }
void add_columns(const AddColumns& task) noexcept { HWY_DYNAMIC_DISPATCH(add_columns_of)(task); }
void scatter(const Scatter& task) noexcept { HWY_DYNAMIC_DISPATCH(scatter_rows)(task); }
}  // namespace attn::kernels
#endif
