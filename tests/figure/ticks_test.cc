#include "figure/scene/ticks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace attn::figure {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

TEST(LinearTicks, AreRoundAndInTheRange) {
  EXPECT_THAT(linear_ticks({0, 1}, 6),
              ElementsAre(DoubleEq(0), DoubleEq(0.2), DoubleEq(0.4), DoubleEq(3 * 0.2), DoubleEq(0.8), DoubleEq(1)));
  EXPECT_THAT(linear_ticks({0.03, 11.2}, 4), ElementsAre(DoubleEq(5), DoubleEq(10)));
  std::mt19937 random(3);
  std::uniform_real_distribution<double> size(-8, 8), place(-3, 3);
  for (int round = 0; round < 1000; ++round) {
    const double span = std::pow(10, size(random)), from = span * place(random);
    const std::vector<double> ticks = linear_ticks({from, from + span}, 6);
    ASSERT_GE(ticks.size(), 2u) << from << " to " << from + span;
    ASSERT_LE(ticks.size(), 6u);
    for (const double tick : ticks) EXPECT_TRUE(tick >= from - 1e-6 * span && tick <= from + span * 1.000001);
    const double step = ticks[1] - ticks[0];
    const double digit = step / std::pow(10, std::floor(std::log10(step) + 1e-6));
    EXPECT_TRUE(std::abs(digit - 1) < 1e-6 || std::abs(digit - 2) < 1e-6 || std::abs(digit - 5) < 1e-6) << step;
  }
}

TEST(LogTicks, ArePowersOfTenAndMoreIfThereAreFew) {
  EXPECT_THAT(log_ticks({0.0001, 1}, 6),
              ElementsAre(DoubleEq(0.0001), DoubleEq(0.001), DoubleEq(0.01), DoubleEq(0.1), DoubleEq(1)));
  EXPECT_THAT(log_ticks({128, 1200}, 6), ElementsAre(DoubleEq(200), DoubleEq(500), DoubleEq(1000)));
  EXPECT_LE(log_ticks({1e-12, 1e12}, 6).size(), 6u);
}

TEST(LogTicks, ExistInANarrowRange) { EXPECT_GE(log_ticks({0.3, 0.4}, 6).size(), 2u); }

TEST(TickTexts, HaveEnoughDigitsToDiffer) {
  EXPECT_THAT(tick_texts(std::vector{0.0, 0.2, 0.4}), ElementsAre("0.0", "0.2", "0.4"));
  EXPECT_THAT(tick_texts(std::vector{0.0, 5.0, 10.0}), ElementsAre("0", "5", "10"));
  EXPECT_THAT(tick_texts(std::vector{0.001, 0.01, 0.1, 1.0}), ElementsAre("0.001", "0.01", "0.1", "1"));
  EXPECT_THAT(tick_texts(std::vector{-0.5, 0.0, 0.5}), ElementsAre("\u22120.5", "0.0", "0.5"));
  EXPECT_THAT(tick_texts(std::vector{0.0, 2e6, 4e6}), ElementsAre("0", "2×10⁶", "4×10⁶"));
  EXPECT_THAT(tick_texts(std::vector{0.0, 1e-5, 2e-5}), ElementsAre("0", "10⁻⁵", "2×10⁻⁵"));
}

TEST(CellTexts, AreShortEnoughForACell) {
  EXPECT_EQ(cell_text(0.1234), "0.123");
  EXPECT_EQ(cell_text(0), "0.000");
  EXPECT_EQ(cell_text(-0.0001), "0.000");
  EXPECT_EQ(cell_text(-0.5), "\u22120.500");
  EXPECT_EQ(cell_text(9.9999), "10.0");
  EXPECT_EQ(cell_text(123.4), "123");
  EXPECT_EQ(cell_text(1.23e7), "1.2×10⁷");
}

TEST(ShortTexts, HaveThreeSignificantDigits) {
  EXPECT_EQ(short_text(0.92), "0.92");
  EXPECT_EQ(short_text(0.0012345), "0.00123");
  EXPECT_EQ(short_text(1.2345e-5), "1.23×10⁻⁵");
  EXPECT_EQ(short_text(12.345), "12.3");
  EXPECT_EQ(short_text(1234.5), "1234");
  EXPECT_EQ(short_text(-0.25), "\u22120.25");
  EXPECT_EQ(short_text(1e6), "10⁶");
}

}  // namespace
}  // namespace attn::figure
