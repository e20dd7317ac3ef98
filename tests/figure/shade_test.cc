#include "figure/colour/shade.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

#include "tests/figure/pictures.h"

namespace attn::figure {
namespace {

using test::table;

std::string shade_refusal(const Shade& shade, const Range& numbers) {
  try {
    static_cast<void>(Shader(shade, numbers));
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  }
  return "";
}

TEST(Shader, CoversZeroToTheLargestNumberByDefault) {
  const Shader shader({}, {0.1, 0.8});
  EXPECT_EQ(shader.range().from, 0);
  EXPECT_EQ(shader.range().to, 0.8);
  EXPECT_EQ(shader.step(0), 0);
  EXPECT_EQ(shader.step(0.8), 255);
  EXPECT_EQ(shader.step(0.4), 128);
}

TEST(Shader, IsSymmetricAroundWhiteForADivergingMap) {
  for (const Scale scale : {Scale::linear, Scale::square_root, Scale::log}) {
    const Shader shader({.cmap = "RdBu", .scale = scale}, {-0.2, 0.5});
    EXPECT_EQ(shader.range().from, -0.5);
    EXPECT_DOUBLE_EQ(shader.place(0), 0.5);
    for (const double value : {0.0001, 0.01, 0.1, 0.3, 0.5})
      EXPECT_NEAR(shader.place(value) + shader.place(-value), 1, 1e-12) << name_of(scale) << " of " << value;
  }
}

TEST(Shader, HasARangeEvenIfAllNumbersAreZero) {
  EXPECT_EQ(Shader({}, {0, 0}).range().to, 1);
  EXPECT_EQ(Shader({.cmap = "RdBu"}, {0, 0}).range().from, -1);
}

TEST(Shader, CoversNegativeNumbers) {
  const Shader shader({}, {-3, 2});
  EXPECT_EQ(shader.range().from, -3);
  EXPECT_EQ(Shader({}, {-3, -1}).range().to, 0);
}

TEST(Shader, ComputesRootsAndLogarithms) {
  const Shader root({.scale = Scale::square_root}, {0, 1});
  EXPECT_DOUBLE_EQ(root.place(0.25), 0.5);
  const Shader log({.scale = Scale::log}, {0, 1});
  EXPECT_NEAR(log.place(0.01), 0.5, 1e-12);  // of 1 to 1/10000
  EXPECT_EQ(log.place(0.0001), 0);
  EXPECT_EQ(log.place(0), 0);
  EXPECT_TRUE(log.cut_below());
  const Shader narrow({.scale = Scale::log, .range = Range{0.1, 10}}, {0.1, 10});
  EXPECT_NEAR(narrow.place(1), 0.5, 1e-12);
  EXPECT_FALSE(narrow.cut_below());
}

TEST(Shader, IsMonotonic) {
  for (const std::string_view name : colour_map_names()) {
    for (const Scale scale : {Scale::linear, Scale::square_root, Scale::log}) {
      const Shader shader({.cmap = std::string(name), .scale = scale}, {-1, 2});
      double before = -1;
      for (double value = -1.5; value < 2.5; value += 0.01) {
        EXPECT_GE(shader.place(value), before) << name << ", " << name_of(scale) << " at " << value;
        before = shader.place(value);
      }
      EXPECT_EQ(before, 1);
    }
  }
}

TEST(Shader, ShadesATableLikeSingleNumbers) {
  const nn::Matrix cells = test::weights(17, 13, 3);
  for (const Scale scale : {Scale::linear, Scale::square_root, Scale::log}) {
    const Shader shader({.scale = scale, .range = Range{0.01, 0.4}}, numbers_in(cells));
    std::vector<std::uint8_t> steps(17 * 13);
    shader.steps({cells.data(), steps.size()}, steps.data());
    for (std::size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i], shader.step(cells.data()[i]));
  }
}

TEST(Shader, RejectsAnEmptyRange) {
  EXPECT_EQ(shade_refusal({.range = Range{1, 1}}, {0, 1}),
            "the colours' range 1 to 1 is empty: its end must lie above its start");
  EXPECT_NE(shade_refusal({.range = Range{0.5, 0.1}}, {0, 1}), "");
  EXPECT_NE(shade_refusal({.range = Range{0, std::numeric_limits<double>::infinity()}}, {0, 1}), "");
  EXPECT_NE(shade_refusal({.range = Range{std::numeric_limits<double>::quiet_NaN(), 1}}, {0, 1}), "");
  EXPECT_EQ(shade_refusal({.scale = Scale::log, .range = Range{-2, -1}}, {0, 1}),
            "a log scale needs a range that ends above 0");
}

TEST(Shader, TicksLieInTheBarInOrderWithRoomBetween) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> size(-6, 6), part(0, 1);
  for (int round = 0; round < 400; ++round) {
    const Scale scale = static_cast<Scale>(round % 3);
    const std::string cmap = round % 2 == 0 ? "viridis" : "RdBu";
    const double to = std::pow(10, size(random));
    const Shader shader({.cmap = cmap, .scale = scale}, {-to * part(random) * (round % 5 == 0), to});
    const std::vector<Tick> ticks = shader.ticks(6);
    ASSERT_GE(ticks.size(), 2u) << cmap << " " << name_of(scale) << " to " << to;
    EXPECT_LE(ticks.size(), 11u);
    for (std::size_t i = 0; i < ticks.size(); ++i) {
      EXPECT_GE(ticks[i].place, 0);
      EXPECT_LE(ticks[i].place, 1);
      EXPECT_FALSE(ticks[i].text.empty());
      if (i == 0) continue;
      EXPECT_GT(ticks[i].place, ticks[i - 1].place + 0.05) << cmap << " " << name_of(scale) << " to " << to;
      EXPECT_NE(ticks[i].text, ticks[i - 1].text);
    }
  }
}

TEST(NumbersIn, AreTheSmallestAndTheLargest) {
  const Range range = numbers_in(table(2, 3, {0.5f, -1, 2, 0, 0.25f, 1}));
  EXPECT_EQ(range.from, -1);
  EXPECT_EQ(range.to, 2);
}

TEST(NumbersIn, NamesACellThatIsNotFinite) {
  for (const float strange : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity()}) {
    try {
      numbers_in(table(2, 3, {0, 0, 0, 0, strange, 0}));
      FAIL() << strange << " was taken";
    } catch (const std::invalid_argument& wrong) {
      EXPECT_STREQ(wrong.what(), "cell (1, 1) is not a finite number and has no colour");
    }
  }
}

TEST(Scales, ParseTheirNames) {
  for (const Scale scale : {Scale::linear, Scale::square_root, Scale::log})
    EXPECT_EQ(parse_scale(name_of(scale)), scale);
  EXPECT_EQ(parse_scale("cubic"), std::nullopt);
}

}  // namespace
}  // namespace attn::figure
