#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>

#include "figure/colour/colour_map.h"
#include "figure/colour/shade.h"

namespace attn::figure {
namespace {

TEST(ColourMaps, RejectsAnUnknownNameAndListsTheKnownOnes) {
  try {
    colour_map("jet");
    FAIL() << "jet was taken";
  } catch (const std::invalid_argument& wrong) {
    EXPECT_STREQ(wrong.what(),
                 "there is no colour map 'jet'; choose from viridis, magma, cividis, YlOrRd, Blues, RdBu");
  }
}

TEST(ColourMaps, MatchMatplotlibWithinOneStep) {
  std::ifstream file(ATTNSCOPE_GOLDEN "/colour_maps.json");
  const nlohmann::json golden = nlohmann::json::parse(file);
  constexpr double kStep = 1 / 255.0 + 1e-6;  // the file has six digits
  for (const std::string_view name : colour_map_names()) {
    const nlohmann::json& colours = golden.at(std::string(name));
    ASSERT_EQ(colours.size(), golden.at("places").get<std::size_t>());
    const Shader shader({.cmap = std::string(name), .range = Range{0, 1}}, {0, 1});
    for (std::size_t i = 0; i < colours.size(); ++i) {
      const double place = static_cast<double>(i) / static_cast<double>(colours.size() - 1);
      const Colour ours = shader.colour(place);
      EXPECT_NEAR(ours.r / 255.0, colours[i][0].get<double>(), kStep) << name << " at " << place;
      EXPECT_NEAR(ours.g / 255.0, colours[i][1].get<double>(), kStep) << name << " at " << place;
      EXPECT_NEAR(ours.b / 255.0, colours[i][2].get<double>(), kStep) << name << " at " << place;
    }
  }
}

double linear(std::uint8_t byte) {
  const double value = byte / 255.0;
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

TEST(Ink, HasAContrastOf4Point5OnEveryColourOfEveryMap) {
  const auto light = [](const Colour& c) { return 0.2126 * linear(c.r) + 0.7152 * linear(c.g) + 0.0722 * linear(c.b); };
  for (const std::string_view name : colour_map_names()) {
    for (const Colour& ground : colour_map(name)) {
      const double a = light(ground), b = light(ink_on(ground));
      EXPECT_GE((std::max(a, b) + 0.05) / (std::min(a, b) + 0.05), 4.5) << name;
    }
  }
}

// Ottosson's OKLab: lightness and two colour axes.
std::array<double, 3> oklab(const Colour& c) {
  const double r = linear(c.r), g = linear(c.g), b = linear(c.b);
  const double l = std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const double m = std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const double s = std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
          1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
          0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

double distance(const Colour& a, const Colour& b) {
  const auto x = oklab(a), y = oklab(b);
  return std::hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
}

TEST(HeadColours, SixteenOrMoreDifferAndAreEquallyLight) {
  constexpr std::int64_t kHeads = 16;
  for (std::int64_t a = 0; a < kHeads; ++a) {
    EXPECT_EQ(head_style(a).dash, 0);
    EXPECT_NEAR(oklab(head_style(a).colour)[0], 0.61, 0.06) << a;
    for (std::int64_t b = a + 1; b < kHeads; ++b)
      EXPECT_GT(distance(head_style(a).colour, head_style(b).colour), 0.06) << a << " and " << b;
    EXPECT_GT(distance(head_style(a).colour, head_style(a + 1).colour), 0.12) << a << " and the next";
  }
}

TEST(HeadColours, NoTwoOfAHundredHeadsLookTheSame) {
  std::set<std::array<int, 4>> seen;
  for (std::int64_t head = 0; head < 100; ++head) {
    const HeadStyle style = head_style(head);
    EXPECT_TRUE(seen.insert({style.colour.r, style.colour.g, style.colour.b, style.dash}).second) << head;
  }
}

}  // namespace
}  // namespace attn::figure
