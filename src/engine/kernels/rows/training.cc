// engine/kernels/rows/training.cc - dropout, cross-entropy and AdamW (see training.h).
#include "engine/kernels/rows/training.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/kernels/rows/training.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "engine/kernels/attention/dropout-inl.h"
#include "engine/kernels/common/denormals.h"
#include "engine/kernels/common/register_tile-inl.h"
#include "engine/kernels/rows/row_steps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

void drop_rows(const Drop& t) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  const Vec scale = hn::Set(f, t.dropout.scale);
  for (std::int64_t r = 0; r < t.rows; ++r) {
    const Dropped dropped(t.dropout, t.first_row + r);
    float* x = t.x.data + r * t.x.stride;
    std::int64_t d = 0;
    for (; d + lanes <= t.width; d += lanes) {
      hn::StoreU(hn::IfThenZeroElse(dropped(d), hn::Mul(scale, hn::LoadU(f, x + d))), f, x + d);
    }
    if (const std::int64_t rest = t.width - d; rest > 0) {
      store_first(hn::IfThenZeroElse(dropped(d), hn::Mul(scale, load_rest(x + d, rest))), rest, x + d);
    }
  }
}

HWY_INLINE float largest_of(const float* x, std::int64_t width) {
  const F f;
  Vec at[4] = {hn::Set(f, kNever), hn::Set(f, kNever), hn::Set(f, kNever), hn::Set(f, kNever)};
  for_each_vector(x, width, [&](int n, Vec v, std::int64_t real) HWY_ATTR {
    if (real < lanes_of_float()) {
      v = hn::IfThenElse(hn::FirstN(f, static_cast<std::size_t>(real)), v, hn::Set(f, kNever));
    }
    at[n] = hn::Max(at[n], v);
  });
  return hn::GetLane(hn::MaxOfLanes(f, hn::Max(hn::Max(at[0], at[1]), hn::Max(at[2], at[3]))));
}

// e^(x - peak), written to the gradient if kStore. Returns the sum.
template <bool kStore>
HWY_INLINE float exponentials(const CrossEntropy& t, float peak) {
  const F f;
  const Vec top = hn::Set(f, peak), to_log2 = hn::Set(f, kLog2E);
  FourSums sums;
  float* to = t.gradient;
  for_each_vector(t.logits, t.width, [&](int n, Vec v, std::int64_t real) HWY_ATTR {
    Vec e = exp2_of(hn::Mul(hn::Sub(v, top), to_log2));
    if (real < lanes_of_float()) e = hn::IfThenElseZero(hn::FirstN(f, static_cast<std::size_t>(real)), e);
    sums.at[n] = hn::Add(sums.at[n], e);
    if constexpr (kStore) {
      if (real < lanes_of_float()) {
        store_first(e, real, to);
      } else {
        hn::StoreU(e, f, to);
      }
      to += real;
    }
  });
  return sums.total();
}

HWY_INLINE void multiply_row(float* x, std::int64_t width, float factor) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  const Vec by = hn::Set(f, factor);
  std::int64_t d = 0;
  for (; d + lanes <= width; d += lanes) hn::StoreU(hn::Mul(by, hn::LoadU(f, x + d)), f, x + d);
  for (; d < width; ++d) x[d] *= factor;
}

RowLoss cross_entropy_row(const CrossEntropy& t) {
  const FlushDenormals guard;
  const float peak = largest_of(t.logits, t.width);
  const float own = t.logits[t.label];
  RowLoss row;
  row.right = own == peak && std::find(t.logits, t.logits + t.label, peak) == t.logits + t.label;
  const float sum = t.gradient != nullptr ? exponentials<true>(t, peak) : exponentials<false>(t, peak);
  row.loss = std::log(static_cast<double>(sum)) - (static_cast<double>(own) - static_cast<double>(peak));
  if (t.gradient == nullptr) return row;
  multiply_row(t.gradient, t.width, t.weight / sum);
  t.gradient[t.label] -= t.weight;
  return row;
}

// p = p shrink - rate m / (sqrt(v) / root + epsilon), m = m + fresh1 (g - m), v = v beta2 + fresh2 g g.
class Updater {
 public:
  HWY_INLINE explicit Updater(const Update& t)
      : scale_(hn::Set(F(), t.scale)),
        shrink_(hn::Set(F(), t.shrink)),
        beta2_(hn::Set(F(), t.beta2)),
        fresh1_(hn::Set(F(), t.fresh1)),
        fresh2_(hn::Set(F(), t.fresh2)),
        root_(hn::Set(F(), t.root)),
        epsilon_(hn::Set(F(), t.epsilon)),
        rate_(hn::Set(F(), t.rate)) {}

  HWY_INLINE void operator()(Vec& p, Vec g, Vec& m, Vec& v) const {
    g = hn::Mul(scale_, g);
    m = hn::MulAdd(fresh1_, hn::Sub(g, m), m);
    v = hn::MulAdd(hn::Mul(g, g), fresh2_, hn::Mul(v, beta2_));
    const Vec deviation = hn::Add(hn::Div(hn::Sqrt(v), root_), epsilon_);
    p = hn::NegMulAdd(rate_, hn::Div(m, deviation), hn::Mul(p, shrink_));
  }

 private:
  Vec scale_, shrink_, beta2_, fresh1_, fresh2_, root_, epsilon_, rate_;
};

void update_numbers(const Update& t) {
  const FlushDenormals guard;
  const F f;
  const Updater apply(t);
  const std::int64_t lanes = lanes_of_float();
  std::int64_t d = 0;
  for (; d + lanes <= t.count; d += lanes) {
    Vec p = hn::LoadU(f, t.value + d), m = hn::LoadU(f, t.first + d), v = hn::LoadU(f, t.second + d);
    apply(p, hn::LoadU(f, t.gradient + d), m, v);
    hn::StoreU(p, f, t.value + d);
    hn::StoreU(m, f, t.first + d);
    hn::StoreU(v, f, t.second + d);
  }
  if (const std::int64_t rest = t.count - d; rest > 0) {
    Vec p = load_rest(t.value + d, rest), m = load_rest(t.first + d, rest), v = load_rest(t.second + d, rest);
    apply(p, load_rest(t.gradient + d, rest), m, v);
    store_first(p, rest, t.value + d);
    store_first(m, rest, t.first + d);
    store_first(v, rest, t.second + d);
  }
}

#if HWY_HAVE_FLOAT64
double squares_of(const float* x, std::int64_t count) {
  const hn::Repartition<double, F> pairs;
  const hn::Rebind<float, decltype(pairs)> half;
  using Pairs = hn::Vec<decltype(pairs)>;
  Pairs sums[2] = {hn::Zero(pairs), hn::Zero(pairs)};
  const auto add = [&](Vec v) HWY_ATTR {
    const Pairs low = hn::PromoteTo(pairs, hn::LowerHalf(half, v));
    const Pairs high = hn::PromoteTo(pairs, hn::UpperHalf(half, v));
    sums[0] = hn::MulAdd(low, low, sums[0]);
    sums[1] = hn::MulAdd(high, high, sums[1]);
  };
  const std::int64_t lanes = lanes_of_float();
  std::int64_t d = 0;
  for (; d + lanes <= count; d += lanes) add(hn::LoadU(F(), x + d));
  if (d < count) add(load_rest(x + d, count - d));
  return hn::GetLane(hn::SumOfLanes(pairs, hn::Add(sums[0], sums[1])));
}
#else  // Highway 1.0 has no lanes of double for WebAssembly
double squares_of(const float* x, std::int64_t count) {
  double sum = 0;
  for (std::int64_t d = 0; d < count; ++d) sum += static_cast<double>(x[d]) * static_cast<double>(x[d]);
  return sum;
}
#endif

}  // namespace
}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {
HWY_EXPORT(drop_rows);
HWY_EXPORT(cross_entropy_row);
HWY_EXPORT(update_numbers);
HWY_EXPORT(squares_of);

void drop(const Drop& task) noexcept { HWY_DYNAMIC_DISPATCH(drop_rows)(task); }
RowLoss cross_entropy(const CrossEntropy& task) noexcept { return HWY_DYNAMIC_DISPATCH(cross_entropy_row)(task); }
void update(const Update& task) noexcept { HWY_DYNAMIC_DISPATCH(update_numbers)(task); }
double sum_of_squares(const float* x, std::int64_t count) noexcept {
  return HWY_DYNAMIC_DISPATCH(squares_of)(x, count);
}
}  // namespace attn::kernels
#endif
