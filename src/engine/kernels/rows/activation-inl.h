// engine/kernels/rows/activation-inl.h - activation functions, one vector at a time.
#if defined(ATTN_ENGINE_KERNELS_ROWS_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_ENGINE_KERNELS_ROWS_ACTIVATION_INL_H_
#undef ATTN_ENGINE_KERNELS_ROWS_ACTIVATION_INL_H_
#else
#define ATTN_ENGINE_KERNELS_ROWS_ACTIVATION_INL_H_
#endif

#include "engine/kernels/common/register_tile-inl.h"
#include "engine/kernels/rows/row_ops.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

// The bound is the first operand of Min and Max: x86 returns the second one if either is NaN.

// x Phi(x) = max(x, 0) - t Q(t), where t = |x| and Q(t) = erfc(t / sqrt 2) / 2. Nothing cancels, so small results far
// on the left are accurate too. log2 Q is nearly a parabola: p is the polynomial of degree 8 with p(0) = -1 that keeps
// t 2^p(t) within 8e-9 of t Q(t) (weighted least squares, reweighted until the error was level over [0, 6]; beyond it p
// falls and 2^p vanishes). Max error 1e-7, of results beyond 1 relative to them.
HWY_INLINE Vec gelu_of(Vec x) {
  const F f;
  const Vec t = hn::Min(hn::Set(f, 15.0F), hn::Abs(x));
  Vec p = hn::MulAdd(t, hn::Set(f, -1.8411513179285012e-06F), hn::Set(f, 2.7294770749824227e-05F));
  p = hn::MulAdd(p, t, hn::Set(f, -0.00012774667110579876F));
  p = hn::MulAdd(p, t, hn::Set(f, -0.0002810717611260933F));
  p = hn::MulAdd(p, t, hn::Set(f, 0.007256478505837051F));
  p = hn::MulAdd(p, t, hn::Set(f, -0.05263384601662889F));
  p = hn::MulAdd(p, t, hn::Set(f, -0.4591611487264546F));
  p = hn::MulAdd(p, t, hn::Set(f, -1.1511109114217832F));
  p = hn::MulAdd(p, t, hn::Set(f, -1.0F));
  return hn::NegMulAdd(t, exp2_of(p), hn::Max(hn::Zero(f), x));
}

// x / (1 + 2^-s), s >= -126
HWY_INLINE Vec times_sigmoid(Vec x, Vec minus_s) {
  const F f;
  return hn::Div(x, hn::Add(hn::Set(f, 1.0F), exp2_of(minus_s)));
}

// Relative error below 5e-6 where the result is above 1e-30.
HWY_INLINE Vec silu_of(Vec x) {
  const F f;
  x = hn::Max(hn::Set(f, -87.0F), x);
  return times_sigmoid(x, hn::Mul(x, hn::Set(f, -kLog2E)));
}

// x/2 (1 + tanh u) = x / (1 + e^-2u), u = sqrt(2/pi) (x + 0.044715 x^3)
HWY_INLINE Vec gelu_tanh_of(Vec x) {
  const F f;
  constexpr float kScale = -2 * 0.7978845608028654F * kLog2E;
  x = hn::Max(hn::Set(f, -9.9F), x);
  const Vec cubic = hn::MulAdd(hn::Mul(x, x), hn::Set(f, 0.044715F * kScale), hn::Set(f, kScale));
  return times_sigmoid(x, hn::Mul(x, cubic));
}

template <Activation kFunction>
HWY_INLINE Vec activated(Vec x) {
  if constexpr (kFunction == Activation::relu) return hn::Max(hn::Zero(F()), x);
  if constexpr (kFunction == Activation::gelu) return gelu_of(x);
  if constexpr (kFunction == Activation::gelu_tanh) return gelu_tanh_of(x);
  if constexpr (kFunction == Activation::silu) return silu_of(x);
  if constexpr (kFunction == Activation::tanh) return tanh_of(x);
  return x;
}

// Calls step<kFunction>().
template <class Step>
HWY_INLINE void with_activation(Activation function, const Step& step) {
  switch (function) {
    case Activation::none:
      return step.template operator()<Activation::none>();
    case Activation::relu:
      return step.template operator()<Activation::relu>();
    case Activation::gelu:
      return step.template operator()<Activation::gelu>();
    case Activation::gelu_tanh:
      return step.template operator()<Activation::gelu_tanh>();
    case Activation::silu:
      return step.template operator()<Activation::silu>();
    case Activation::tanh:
      return step.template operator()<Activation::tanh>();
  }
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
