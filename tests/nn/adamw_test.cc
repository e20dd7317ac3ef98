// tests/nn/adamw_test.cc - properties of the optimiser; nn_golden_test.cc compares it with torch.
#include "nn/learn/adamw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/errors.h"
#include "tests/support/random.h"
#include "tests/support/targets.h"

namespace attn::nn {
namespace {

// A matrix that decays and a vector that does not, larger than one task.
void fill(Parameters& parameters, std::int64_t rows = 300, std::int64_t columns = 333) {
  parameters.matrix("matrix", rows, columns);
  parameters.vector("vector", 77);
  std::uint64_t stream = 1;
  for (Parameter& p : parameters.all()) {
    for (std::int64_t n = 0; n < p.size(); ++n) {
      p.value.data()[n] = test::bell(stream, static_cast<std::uint64_t>(n));
      p.gradient.data()[n] = test::bell(stream + 1, static_cast<std::uint64_t>(n));
    }
    stream += 2;
  }
}

bool same_bits(const Parameters& a, const Parameters& b) {
  for (std::size_t n = 0; n < a.all().size(); ++n) {
    const Parameter &p = a.all()[n], &q = b.all()[n];
    if (std::memcmp(p.value.data(), q.value.data(), static_cast<std::size_t>(p.size()) * sizeof(float)) != 0)
      return false;
  }
  return true;
}

TEST(AdamW, SameBitsForAnyNumberOfThreads) {
  test::on_every_target([](const char* target) {
    Parameters want;
    fill(want);
    AdamW first(want, {});
    ThreadPool one(1);
    for (int n = 0; n < 3; ++n) first.step(want, 1e-2F, 0.5F, one);
    const double norm = gradient_norm(want, one);
    for (const int threads : {2, 3}) {
      Parameters got;
      fill(got);
      AdamW optimiser(got, {});
      ThreadPool pool(threads);
      for (int n = 0; n < 3; ++n) optimiser.step(got, 1e-2F, 0.5F, pool);
      EXPECT_TRUE(same_bits(got, want)) << target;
      EXPECT_EQ(gradient_norm(got, pool), norm) << target;
    }
  });
}

// Adam's first step is the rate itself, whatever the size of the gradient.
TEST(AdamW, FirstStepIsTheRateInTheDirectionOfTheGradient) {
  test::on_every_target([](const char* target) {
    Parameters parameters;
    fill(parameters, 5, 7);
    std::vector<float> before(parameters.all()[0].value.data(), parameters.all()[0].value.data() + 35);
    AdamW optimiser(parameters, {.decay = 0});
    ThreadPool pool(1);
    optimiser.step(parameters, 0.25F, 1, pool);
    EXPECT_EQ(optimiser.steps(), 1);
    for (std::size_t n = 0; n < 35; ++n) {
      const float gradient = parameters.all()[0].gradient.data()[n];
      EXPECT_NEAR(before[n] - parameters.all()[0].value.data()[n], gradient > 0 ? 0.25 : -0.25, 1e-5) << target;
    }
  });
}

TEST(AdamW, DecayAppliesOnlyWhereItIsEnabled) {
  Parameters parameters;
  fill(parameters, 5, 7);
  ThreadPool pool(1);
  parameters.clear_gradients(pool);
  Parameters before;
  fill(before, 5, 7);
  AdamW optimiser(parameters, {.decay = 0.5F});
  optimiser.step(parameters, 0.1F, 1, pool);
  for (int n = 0; n < 35; ++n)
    EXPECT_FLOAT_EQ(parameters.all()[0].value.data()[n], before.all()[0].value.data()[n] * 0.95F);
  for (int n = 0; n < 77; ++n) EXPECT_EQ(parameters.all()[1].value.data()[n], before.all()[1].value.data()[n]);
}

TEST(AdamW, ResumesFromSavedMomentsToTheSameBits) {
  Parameters unbroken, resumed;
  fill(unbroken);
  fill(resumed);
  ThreadPool pool(1);
  AdamW whole(unbroken, {}), first(resumed, {});
  for (int n = 0; n < 4; ++n) whole.step(unbroken, 1e-2F, 1, pool);
  for (int n = 0; n < 2; ++n) first.step(resumed, 1e-2F, 1, pool);
  AdamW second(resumed, {});
  second.moments() = std::move(first.moments());
  second.set_steps(first.steps());
  for (int n = 0; n < 2; ++n) second.step(resumed, 1e-2F, 1, pool);
  EXPECT_TRUE(same_bits(resumed, unbroken));
  EXPECT_EQ(second.steps(), 4);
}

TEST(AdamW, ParametersOfAnotherModelThrow) {
  Parameters one, other;
  fill(one, 5, 7);
  fill(other, 5, 8);
  AdamW optimiser(one, {});
  ThreadPool pool(1);
  EXPECT_THAT(test::argument_error([&] { optimiser.step(other, 1, 1, pool); }),
              testing::HasSubstr("not the parameters it was constructed with"));
  EXPECT_EQ(optimiser.steps(), 0);
}

TEST(GradientNorm, OfNanIsNan) {
  test::on_every_target([](const char* target) {
    Parameters parameters;
    fill(parameters);
    ThreadPool pool(2);
    double want = 0;
    for (const Parameter& p : parameters.all())
      for (std::int64_t n = 0; n < p.size(); ++n) want += std::pow(static_cast<double>(p.gradient.data()[n]), 2);
    EXPECT_NEAR(gradient_norm(parameters, pool), std::sqrt(want), 1e-10 * want) << target;
    parameters.all()[1].gradient.data()[76] = std::numeric_limits<float>::infinity();
    EXPECT_TRUE(std::isinf(gradient_norm(parameters, pool))) << target;
    parameters.all()[0].gradient.data()[50'000] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(gradient_norm(parameters, pool))) << target;
  });
}

TEST(GradientNorm, OfNumbersWhoseSquaresAFloatCannotHoldIsRight) {
  Parameters parameters;
  parameters.vector("vector", 4);
  for (int n = 0; n < 4; ++n) parameters.all()[0].gradient.data()[n] = 1e30F;
  ThreadPool pool(1);
  EXPECT_NEAR(gradient_norm(parameters, pool) / 2e30, 1, 1e-6);
}

TEST(ClipScale, NothingIsEnlarged) {
  EXPECT_EQ(clip_scale(0.5, 1), 1);
  EXPECT_EQ(clip_scale(0, 1), 1);
  EXPECT_NEAR(clip_scale(4, 1), 0.25, 1e-6);
  EXPECT_EQ(clip_scale(100, 0), 1);
  EXPECT_EQ(clip_scale(100, -1), 1);
}

TEST(Schedule, RisesEvenlyThenFallsAsACosine) {
  const Schedule schedule{2e-3, 10, 111, 0.1};
  for (int step = 0; step < 10; ++step) EXPECT_NEAR(schedule.rate(step), 2e-4 * (step + 1), 1e-15);
  EXPECT_DOUBLE_EQ(schedule.rate(10), 2e-3);
  EXPECT_NEAR(schedule.rate(60), 2e-3 * 0.55, 1e-15);  // half way down: the middle
  EXPECT_NEAR(schedule.rate(110), 2e-4, 1e-15);
  EXPECT_NEAR(schedule.rate(500), 2e-4, 1e-15);
  for (int step = 11; step <= 110; ++step) EXPECT_LT(schedule.rate(step), schedule.rate(step - 1));
}

TEST(Schedule, WithoutWarmupStartsAtThePeakAndOneStepIsEnough) {
  EXPECT_DOUBLE_EQ((Schedule{1e-3, 0, 100, 0.1}).rate(0), 1e-3);
  EXPECT_DOUBLE_EQ((Schedule{1e-3, 0, 1, 0.1}).rate(0), 1e-3);
  EXPECT_DOUBLE_EQ((Schedule{1e-3, 5, 5, 0.1}).rate(4), 1e-3);
}

}  // namespace
}  // namespace attn::nn
