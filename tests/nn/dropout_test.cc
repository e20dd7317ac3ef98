// tests/nn/dropout_test.cc - which numbers are dropped, and how the others are scaled.
#include "nn/learn/dropout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "tests/support/errors.h"
#include "tests/support/rows.h"
#include "tests/support/targets.h"

namespace attn::nn {
namespace {

using test::GappedRows;

GappedRows ones(std::int64_t rows, std::int64_t width, std::int64_t gap = 0) {
  GappedRows x(rows, width, gap);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < width; ++j) x.at(i, j) = 1;
  return x;
}

double kept(const GappedRows& x) {
  double count = 0;
  for (std::int64_t i = 0; i < x.rows(); ++i)
    for (std::int64_t j = 0; j < x.width(); ++j) count += x.at(i, j) != 0 ? 1 : 0;
  return count;
}

// 500,000 tries: six standard deviations are 0.0042 at most.
TEST(Dropout, DropsTheRequestedShareAndScalesTheRest) {
  test::on_every_target([](const char* target) {
    for (const float rate : {0.1F, 0.5F, 0.9F}) {
      auto x = ones(1000, 500);
      ThreadPool pool(2);
      drop(x.view(), {rate, 7}, pool);
      EXPECT_NEAR(kept(x) / 500'000, 1 - rate, 0.0043) << target;
      for (std::int64_t i = 0; i < 1000; ++i)
        for (std::int64_t j = 0; j < 500; ++j)
          ASSERT_TRUE(x.at(i, j) == 0 || std::abs(x.at(i, j) * (1 - rate) - 1) < 1e-6F) << target;
    }
  });
}

TEST(Dropout, RowsAndColumnsAreDroppedAlike) {
  auto x = ones(400, 400);
  ThreadPool pool(1);
  drop(x.view(), {0.5F, 1}, pool);
  for (std::int64_t n = 0; n < 400; ++n) {
    double row = 0, column = 0;
    for (std::int64_t m = 0; m < 400; ++m) {
      row += x.at(n, m) / 2;
      column += x.at(m, n) / 2;
    }
    EXPECT_NEAR(row, 200, 60) << n;  // six standard deviations
    EXPECT_NEAR(column, 200, 60) << n;
  }
}

// For any instruction set, number of threads, width and gaps.
TEST(Dropout, DependsOnSeedRowAndColumnAlone) {
  auto want = ones(300, 200);
  ThreadPool one(1);
  drop(want.view(), {0.3F, 5}, one);
  test::on_every_target([&](const char* target) {
    for (const int threads : {1, 2, 3}) {
      for (const std::int64_t width : {1, 7, 64, 199, 200}) {
        auto got = ones(300, width, 3);
        ThreadPool pool(threads);
        drop(got.view(), {0.3F, 5}, pool);
        for (std::int64_t i = 0; i < 300; ++i)
          for (std::int64_t j = 0; j < width; ++j) ASSERT_EQ(got.at(i, j), want.at(i, j)) << target;
        EXPECT_TRUE(got.gaps_are_whole());
      }
    }
  });
  auto other = ones(300, 200);
  drop(other.view(), {0.3F, 6}, one);
  EXPECT_FALSE(other.same_bits(want));
}

TEST(Dropout, PartOfTheRowsIsDroppedAsInTheWhole) {
  auto whole = ones(90, 33), part = ones(40, 33);
  ThreadPool pool(2);
  drop(whole.view(), {0.3F, 5}, pool);
  drop(part.view(), {.rate = 0.3F, .seed = 5, .first_query = 50}, pool);
  for (std::int64_t i = 0; i < 40; ++i)
    for (std::int64_t j = 0; j < 33; ++j) ASSERT_EQ(part.at(i, j), whole.at(50 + i, j)) << i << ", " << j;
}

TEST(Dropout, GradientDropsTheSameNumbers) {
  auto x = ones(20, 33), dy = GappedRows(20, 33).fill(3);
  const auto before = dy;
  ThreadPool pool(1);
  drop(x.view(), {0.4F, 9}, pool);
  drop(dy.view(), {0.4F, 9}, pool);
  for (std::int64_t i = 0; i < 20; ++i)
    for (std::int64_t j = 0; j < 33; ++j) EXPECT_FLOAT_EQ(dy.at(i, j), before.at(i, j) * x.at(i, j));
}

TEST(Dropout, RateZeroLeavesEveryBit) {
  auto x = GappedRows(5, 9).fill(1);
  x.at(2, 3) = std::numeric_limits<float>::denorm_min();
  const auto before = x;
  ThreadPool pool(1);
  drop(x.view(), {0, 1}, pool);
  EXPECT_TRUE(x.same_bits(before));
}

TEST(Dropout, RateOfOneOrMoreOrNegativeOrNanThrows) {
  auto x = GappedRows(2, 2).fill(1);
  const auto before = x;
  ThreadPool pool(1);
  for (const float rate : {1.0F, 1.5F, -0.1F, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_THAT(test::argument_error([&] { drop(x.view(), {rate, 1}, pool); }), testing::HasSubstr("in [0, 1)"));
  }
  EXPECT_TRUE(x.same_bits(before));
}

}  // namespace
}  // namespace attn::nn
