// tests/nn/activation_test.cc - activations against double precision, on every instruction set.
#include "nn/infer/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "tests/support/exact.h"
#include "tests/support/numbers.h"
#include "tests/support/rows.h"
#include "tests/support/targets.h"

namespace attn::nn {
namespace {

using test::GappedRows;
using test::kInfinity;
using test::kNan;

struct ActivationError {
  double absolute = 0;  // absolute for results up to 1, relative for larger ones
  double tail = 0;      // relative, for results from -1e-2 to -1e-4 below x = -1
};

// Over [-20, 20] in steps of 1e-4, and at numbers approaching 0.
ActivationError activation_error(Activation f) {
  std::vector<float> x;
  for (int n = -200'000; n <= 200'000; ++n) x.push_back(static_cast<float>(n) * 1e-4F);
  for (float tiny = 1; tiny > 1e-30F; tiny *= 0.37F) {
    x.push_back(tiny);
    x.push_back(-tiny);
  }
  std::vector<float> y = x;
  ThreadPool pool(1);
  activate({y.data(), {1, std::ssize(y)}}, f, pool);
  ActivationError worst;
  for (std::size_t n = 0; n < x.size(); ++n) {
    const double want = test::exact(f, x[n]);
    const double error = std::abs(y[n] - want);
    worst.absolute = std::max(worst.absolute, error / std::max(1.0, std::abs(want)));
    if (x[n] < -1 && want < -1e-4 && want > -1e-2) worst.tail = std::max(worst.tail, error / -want);
  }
  return worst;
}

TEST(Activation, GeluIsWithinAFewUlpOfErf) {
  test::on_every_target([](const char* target) {
    const ActivationError e = activation_error(Activation::gelu);
    EXPECT_LT(e.absolute, 1.2e-7) << target;
    EXPECT_LT(e.tail, 3e-5) << target;
  });
}

TEST(Activation, GeluByTanhIsWithinAFewUlpOfItsFormula) {
  test::on_every_target([](const char* target) {
    const ActivationError e = activation_error(Activation::gelu_tanh);
    EXPECT_LT(e.absolute, 3e-7) << target;
    EXPECT_LT(e.tail, 5e-6) << target;
  });
}

TEST(Activation, SiluIsWithinAFewUlpOfItsFormula) {
  test::on_every_target([](const char* target) {
    const ActivationError e = activation_error(Activation::silu);
    EXPECT_LT(e.absolute, 3e-7) << target;
    EXPECT_LT(e.tail, 5e-6) << target;
  });
}

TEST(Activation, TanhIsWithinSevenUlp) {
  test::on_every_target([](const char* target) {
    const ActivationError e = activation_error(Activation::tanh);
    EXPECT_LT(e.absolute, 5e-7) << target;
  });
}

TEST(Activation, ReluAndNoneAreExact) {
  test::on_every_target([](const char* target) {
    EXPECT_EQ(activation_error(Activation::relu).absolute, 0) << target;
    EXPECT_EQ(activation_error(Activation::none).absolute, 0) << target;
  });
}

TEST(Activation, KeepsNanAndInfinityAndVanishesFarDown) {
  test::on_every_target([](const char* target) {
    for (const Activation f :
         {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu, Activation::tanh}) {
      SCOPED_TRACE(target + std::string(" ") + std::to_string(static_cast<int>(f)));
      const float low = f == Activation::tanh ? -1.0F : 0.0F;
      std::vector<float> x = {kNan, kInfinity, 3e38F, 100.0F, -kInfinity, -3e38F, -1e10F, -100.0F, -20.0F};
      ThreadPool pool(1);
      activate({x.data(), {1, std::ssize(x)}}, f, pool);
      EXPECT_TRUE(std::isnan(x[0]));
      EXPECT_FLOAT_EQ(x[1], f == Activation::tanh ? 1.0F : kInfinity);
      EXPECT_FLOAT_EQ(x[2], f == Activation::tanh ? 1.0F : 3e38F);
      EXPECT_FLOAT_EQ(x[3], f == Activation::tanh ? 1.0F : 100.0F);
      for (std::size_t n = 4; n < 8; ++n) EXPECT_NEAR(x[n], low, low == 0 ? 1e-35F : 1e-6F) << n;
      EXPECT_NEAR(x[8], low, 1e-6F);
    }
  });
}

TEST(Activation, GateMultipliesAndLeavesGapsAlone) {
  test::on_every_target([](const char* target) {
    for (const std::int64_t width : {1, 3, 8, 16, 17, 33, 100}) {
      SCOPED_TRACE(target + std::string(", width ") + std::to_string(width));
      auto gate = GappedRows(9, width, 3).fill(1, 2);
      const auto up = GappedRows(9, width, 1).fill(2);
      const auto before = gate;
      ThreadPool pool(2);
      activate_gate(gate.view(), up.view(), Activation::silu, pool);
      EXPECT_TRUE(gate.gaps_are_whole());
      for (std::int64_t i = 0; i < 9; ++i)
        for (std::int64_t j = 0; j < width; ++j)
          EXPECT_NEAR(gate.at(i, j), test::exact(Activation::silu, before.at(i, j)) * up.at(i, j), 5e-6);
    }
  });
}

TEST(Activation, SameBitsForAnyNumberOfThreads) {
  auto one = GappedRows(300, 700).fill(3, 2);
  auto many = one;
  ThreadPool single(1), three(3);
  activate(one.view(), Activation::gelu, single);
  activate(many.view(), Activation::gelu, three);
  EXPECT_TRUE(many.same_bits(one));
}

TEST(Activation, GateOfAnotherShapeThrowsBeforeAnythingIsWritten) {
  auto gate = GappedRows(2, 5).fill(1);
  const auto before = gate, up = GappedRows(2, 4).fill(1);
  ThreadPool pool(1);
  EXPECT_THROW(activate_gate(gate.view(), up.view(), Activation::silu, pool), std::invalid_argument);
  EXPECT_TRUE(gate.same_bits(before));
}

}  // namespace
}  // namespace attn::nn
