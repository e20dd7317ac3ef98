// Compares drawn figures with reviewed pictures in tests/golden/figures, made by tests/golden/make_figures.sh.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include "tests/figure/pictures.h"

namespace attn::figure {
namespace {

using test::Pixels;

// Another version of a font moves letters by a pixel; another layout moves panels, lines or colours. So both pictures
// are cut into squares of 6 pixels, and at most one square in a hundred may differ, on average, by more than a fifth of
// the range from black to white. Sizes may differ by 2 %, because words may become a little wider.
constexpr std::int64_t kSquare = 6;
constexpr double kNotable = 51, kMostDiffering = 0.01, kMostLarger = 0.02;

double share_differing(const Pixels& a, const Pixels& b) {
  const std::int64_t across = std::min(a.width, b.width) / kSquare, down = std::min(a.height, b.height) / kSquare;
  std::int64_t differing = 0;
  for (std::int64_t sy = 0; sy < down; ++sy) {
    for (std::int64_t sx = 0; sx < across; ++sx) {
      std::array<double, 3> sum{};
      for (std::int64_t y = sy * kSquare; y < (sy + 1) * kSquare; ++y) {
        for (std::int64_t x = sx * kSquare; x < (sx + 1) * kSquare; ++x) {
          const Colour p = a.at(x, y), q = b.at(x, y);
          sum[0] += p.r - q.r;
          sum[1] += p.g - q.g;
          sum[2] += p.b - q.b;
        }
      }
      const double most = std::max({std::abs(sum[0]), std::abs(sum[1]), std::abs(sum[2])});
      if (most > kNotable * kSquare * kSquare) ++differing;
    }
  }
  return static_cast<double>(differing) / static_cast<double>(across * down);
}

bool alike(const Pixels& a, const Pixels& b) {
  const auto near = [](std::int64_t x, std::int64_t y) {
    return std::abs(static_cast<double>(x - y)) <= kMostLarger * static_cast<double>(std::max(x, y));
  };
  return near(a.width, b.width) && near(a.height, b.height) && share_differing(a, b) <= kMostDiffering;
}

std::string file_of(const std::string& name) { return std::string(ATTNSCOPE_GOLDEN) + "/figures/" + name + ".png"; }

TEST(ReferencePictures, EveryFigureMatches) {
  constexpr Output kOutput = {.dpi = 96};
  for (const test::Sample& sample : test::samples()) {
    const std::string drawn = draw(sample.figure, kOutput);
    if (std::getenv("ATTNSCOPE_WRITE_FIGURES") != nullptr)
      std::ofstream(file_of(sample.name), std::ios::binary) << drawn;
    std::ifstream in(file_of(sample.name), std::ios::binary);
    ASSERT_TRUE(in) << file_of(sample.name);
    const Pixels expected = test::decoded({std::istreambuf_iterator<char>(in), {}}), ours = test::decoded(drawn);
    EXPECT_TRUE(alike(expected, ours)) << sample.name << ": " << 100 * share_differing(expected, ours)
                                       << "% of it looks different, " << ours.width << " x " << ours.height
                                       << " dots for " << expected.width << " x " << expected.height;
  }
}

TEST(ReferencePictures, AChangedFigureIsDetected) {
  for (test::Sample& sample : test::samples()) {
    const Pixels before = test::decoded(draw(sample.figure, Output{.dpi = 96}));
    Pixels moved = before;  // by 6 dots, as another layout would
    for (std::int64_t y = 0; y < before.height; ++y)
      for (std::int64_t x = 6; x < before.width; ++x) {
        const Colour c = before.at(x - 6, y);
        std::copy_n(std::array{c.r, c.g, c.b}.begin(), 3, moved.rgb.begin() + 3 * (y * before.width + x));
      }
    EXPECT_FALSE(alike(before, moved)) << sample.name;
    if (auto* map = std::get_if<Heatmap>(&sample.figure)) {
      map->shade.cmap = "magma";
      EXPECT_FALSE(alike(before, test::decoded(draw(sample.figure, Output{.dpi = 96}))));
    }
  }
}

}  // namespace
}  // namespace attn::figure
