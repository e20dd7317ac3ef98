// tests/engine/kernels/kernel_steps_test.cc - the error bounds of the kernels' exp2 and tanh, on every instruction set.
#include <gtest/gtest.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/engine/kernels/kernel_steps_test.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/kernels/common/register_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

void apply_exp2(const float* x, std::int64_t n, float* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = exp2_of(x[i]);
}
void apply_tanh(const float* x, std::int64_t n, float* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = hn::GetLane(tanh_of(hn::Set(F(), x[i])));
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tests/support/targets.h"

namespace attn::kernels {
HWY_EXPORT(apply_exp2);
HWY_EXPORT(apply_tanh);

namespace {

std::vector<float> exp2_all(const std::vector<float>& x) {
  std::vector<float> y(x.size());
  HWY_DYNAMIC_DISPATCH(apply_exp2)(x.data(), static_cast<std::int64_t>(x.size()), y.data());
  return y;
}
std::vector<float> tanh_all(const std::vector<float>& x) {
  std::vector<float> y(x.size());
  HWY_DYNAMIC_DISPATCH(apply_tanh)(x.data(), static_cast<std::int64_t>(x.size()), y.data());
  return y;
}

std::vector<float> steps(float from, float to, int count) {
  std::vector<float> x;
  for (int i = 0; i <= count; ++i) x.push_back(from + (to - from) * static_cast<float>(i) / static_cast<float>(count));
  return x;
}

// The error in units in the last place of the float nearest to the exact value.
double ulps(float got, double right) {
  const auto nearest = static_cast<float>(std::abs(right));
  const double ulp = static_cast<double>(std::nextafter(nearest, std::numeric_limits<float>::infinity())) - nearest;
  return std::abs(got - right) / ulp;
}

double worst(const std::vector<float>& x, const std::vector<float>& y, double (*truth)(double)) {
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, ulps(y[i], truth(x[i])));
  return most;
}

TEST(KernelSteps, PowerOfTwoIsWithinThreeUlp) {
  test::on_every_target([](const char* target) {
    SCOPED_TRACE(target);
    const std::vector<float> x = steps(-126, 126, 2'000'003);
    EXPECT_LE(worst(x, exp2_all(x), [](double t) { return std::exp2(t); }), 3);
  });
}

TEST(KernelSteps, PowerOfTwoIsExactlyZeroFarBelow) {
  test::on_every_target([](const char* target) {
    SCOPED_TRACE(target);
    for (const float y : exp2_all({-127, -128, -1e30F, -std::numeric_limits<float>::infinity()})) EXPECT_EQ(y, 0);
  });
}

TEST(KernelSteps, PowerOfTwoIsNeverNegativeInTheGap) {
  test::on_every_target([](const char* target) {
    SCOPED_TRACE(target);
    for (const float y : exp2_all(steps(-127, -126, 10'000))) {
      EXPECT_GE(y, 0);
      EXPECT_LE(y, std::exp2(-126.0F));
    }
  });
}

TEST(KernelSteps, NanStaysNan) {
  test::on_every_target([](const char* target) {
    SCOPED_TRACE(target);
    EXPECT_TRUE(std::isnan(exp2_all({std::numeric_limits<float>::quiet_NaN()})[0]));
    EXPECT_TRUE(std::isnan(tanh_all({std::numeric_limits<float>::quiet_NaN()})[0]));
  });
}

TEST(KernelSteps, HyperbolicTangentIsWithinSevenUlp) {
  test::on_every_target([](const char* target) {
    SCOPED_TRACE(target);
    const std::vector<float> x = steps(-12, 12, 2'000'003);
    EXPECT_LE(worst(x, tanh_all(x), [](double t) { return std::tanh(t); }), 7);
  });
}

}  // namespace
}  // namespace attn::kernels
#endif
