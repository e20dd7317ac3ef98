// tests/nn/activation_backward_test.cc - derivatives of activations against differences in double, on every target.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "nn/infer/activation.h"
#include "tests/support/exact.h"
#include "tests/support/numbers.h"
#include "tests/support/rows.h"
#include "tests/support/targets.h"

namespace attn::nn {
namespace {

using test::GappedRows;
using test::kInfinity;

double slope(Activation f, double x) {
  return test::slope_of(x, [&] { return test::exact(f, x); });
}

// Numbers away from the kink of relu.
GappedRows inputs(std::int64_t rows, std::int64_t width, std::int64_t gap, std::uint64_t seed) {
  auto x = GappedRows(rows, width, gap).fill(seed, 2);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < width; ++j)
      if (std::abs(x.at(i, j)) < 0.001F) x.at(i, j) = 0.5F;
  return x;
}

TEST(ActivationBackward, SlopeIsRightToAMillionthEverywhere) {
  test::on_every_target([](const char* target) {
    for (const Activation f : test::kActivations) {
      std::vector<float> x, dy;
      for (int n = -20'000; n <= 20'000; ++n) {
        if (n != 0) x.push_back(static_cast<float>(n) * 1e-3F);
      }
      dy.assign(x.size(), 1.0F);
      ThreadPool pool(1);
      activate_backward({x.data(), {1, std::ssize(x)}}, f, {dy.data(), {1, std::ssize(dy)}}, pool);
      double worst = 0;
      for (std::size_t n = 0; n < x.size(); ++n) worst = std::max(worst, std::abs(dy[n] - slope(f, x[n])));
      EXPECT_LT(worst, 2e-6) << target << ", activation " << static_cast<int>(f);
    }
  });
}

TEST(ActivationBackward, SlopeOfGeluIsWithinAFewUlp) {
  test::on_every_target([](const char* target) {
    double worst = 0;
    for (double x = -16; x < 16; x += 0.00137) {
      const auto rounded = static_cast<float>(x);
      const double t = rounded;
      const double want =
          std::erfc(-t / std::sqrt(2.0)) / 2 + t * std::exp(-t * t / 2) / std::sqrt(2 * std::acos(-1.0));
      float dy = 1;
      ThreadPool pool(1);
      activate_backward({&rounded, {1, 1}}, Activation::gelu, {&dy, {1, 1}}, pool);
      worst = std::max(worst, std::abs(dy - want));
    }
    EXPECT_LT(worst, 3e-7) << target;
  });
}

TEST(ActivationBackward, FarOutTheSlopeIsOneOrNothing) {
  test::on_every_target([](const char* target) {
    for (const Activation f : test::kActivations) {
      if (f == Activation::none) continue;
      SCOPED_TRACE(target + std::string(", activation ") + std::to_string(static_cast<int>(f)));
      const std::vector<float> x = {100, 3e38F, kInfinity, -100, -3e38F, -kInfinity};
      std::vector<float> dy(x.size(), 1.0F);
      ThreadPool pool(1);
      activate_backward({x.data(), {1, 6}}, f, {dy.data(), {1, 6}}, pool);
      for (std::size_t n = 0; n < 6; ++n) EXPECT_NEAR(dy[n], n < 3 && f != Activation::tanh ? 1 : 0, 1e-6) << x[n];
    }
  });
}

TEST(ActivationBackward, EveryWidthAndGapsLeftAlone) {
  test::on_every_target([](const char* target) {
    for (const Activation f : test::kActivations) {
      for (const std::int64_t width : {1, 3, 8, 15, 16, 17, 33, 100}) {
        SCOPED_TRACE(target + std::string(", width ") + std::to_string(width));
        const auto x = inputs(5, width, 3, 1);
        const auto before = GappedRows(5, width, 2).fill(2);
        auto dy = before;
        GappedRows y(5, width, 1);
        ThreadPool pool(2);
        activate_backward(x.view(), f, dy.view(), pool);
        activate(x.view(), f, y.view(), pool);
        for (std::int64_t i = 0; i < 5; ++i) {
          for (std::int64_t j = 0; j < width; ++j) {
            EXPECT_NEAR(dy.at(i, j), slope(f, x.at(i, j)) * before.at(i, j), 1e-5);
            EXPECT_NEAR(y.at(i, j), test::exact(f, x.at(i, j)), 1e-5);
          }
        }
        EXPECT_TRUE(dy.gaps_are_whole() && y.gaps_are_whole());
      }
    }
  });
}

TEST(ActivationBackward, OutOfPlaceHasTheBitsOfInPlace) {
  for (const Activation f : test::kActivations) {
    const auto x = GappedRows(4, 37, 1).fill(1, 2);
    auto in_place = x;
    GappedRows y(4, 37);
    ThreadPool pool(1);
    activate(in_place.view(), f, pool);
    activate(x.view(), f, y.view(), pool);
    EXPECT_TRUE(y.same_bits(in_place));
  }
}

TEST(ActivationBackward, BothSidesOfAGateGetTheirGradient) {
  test::on_every_target([](const char* target) {
    for (const Activation f : test::kActivations) {
      for (const std::int64_t width : {1, 7, 16, 50}) {
        SCOPED_TRACE(target + std::string(", width ") + std::to_string(width));
        const auto gate = inputs(3, width, 1, 1);
        const auto up = GappedRows(3, width, 2).fill(2), before = GappedRows(3, width, 3).fill(3);
        auto dy = before;
        GappedRows d_up(3, width, 1);
        ThreadPool pool(1);
        activate_gate_backward(gate.view(), up.view(), f, dy.view(), d_up.view(), pool);
        for (std::int64_t i = 0; i < 3; ++i) {
          for (std::int64_t j = 0; j < width; ++j) {
            double g = gate.at(i, j), u = up.at(i, j);
            const auto loss = [&] { return test::exact(f, g) * u * before.at(i, j); };
            EXPECT_NEAR(dy.at(i, j), test::slope_of(g, loss), 5e-5);
            EXPECT_NEAR(d_up.at(i, j), test::slope_of(u, loss), 5e-5);
          }
        }
        EXPECT_TRUE(dy.gaps_are_whole() && d_up.gaps_are_whole());
      }
    }
  });
}

TEST(ActivationBackward, SameBitsForAnyNumberOfThreads) {
  const auto x = GappedRows(300, 700).fill(3, 2);
  const auto start = GappedRows(300, 700).fill(4);
  auto want = start;
  ThreadPool one(1);
  activate_backward(x.view(), Activation::gelu, want.view(), one);
  for (const int threads : {2, 3}) {
    auto got = start;
    ThreadPool pool(threads);
    activate_backward(x.view(), Activation::gelu, got.view(), pool);
    EXPECT_TRUE(got.same_bits(want));
  }
}

TEST(ActivationBackward, OtherShapesThrowBeforeAnythingIsWritten) {
  const auto x = GappedRows(2, 5).fill(1), other = GappedRows(2, 4).fill(2);
  auto dy = GappedRows(2, 4).fill(3), d_up = GappedRows(2, 5).fill(4);
  const auto before = dy;
  ThreadPool pool(1);
  EXPECT_THROW(activate_backward(x.view(), Activation::gelu, dy.view(), pool), std::invalid_argument);
  EXPECT_THROW(activate(x.view(), Activation::gelu, dy.view(), pool), std::invalid_argument);
  EXPECT_THROW(activate_gate_backward(x.view(), other.view(), Activation::silu, d_up.view(), d_up.view(), pool),
               std::invalid_argument);
  EXPECT_THROW(activate_gate_backward(x.view(), x.view(), Activation::silu, dy.view(), d_up.view(), pool),
               std::invalid_argument);
  EXPECT_TRUE(dy.same_bits(before));
}

}  // namespace
}  // namespace attn::nn
