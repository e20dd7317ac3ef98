#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "figure/colour/shade.h"
#include "figure/scene/check.h"
#include "tests/figure/pictures.h"
#include "tests/support/temporary_folder.h"

namespace attn::figure {
namespace {

using test::Pixels;

// Finds the table in a picture: from the first to the last pixel with a colour of the map that is neither grey nor
// white.
struct Found {
  std::int64_t left = std::numeric_limits<std::int64_t>::max(), top = left, right = -1, bottom = -1;
};
Found coloured_in(const Pixels& pixels) {
  Found found;
  for (std::int64_t y = 0; y < pixels.height; ++y) {
    for (std::int64_t x = 0; x < pixels.width; ++x) {
      const Colour c = pixels.at(x, y);
      if (std::max({c.r, c.g, c.b}) - std::min({c.r, c.g, c.b}) < 40) continue;
      found.left = std::min(found.left, x);
      found.top = std::min(found.top, y);
      found.right = std::max(found.right, x);
      found.bottom = std::max(found.bottom, y);
    }
  }
  return found;
}

void expect_cells(const Figure& figure, const nn::Matrix& cells, double dpi) {
  const Pixels pixels = test::decoded(draw(figure, Output{.dpi = dpi}));
  const Found found = coloured_in(pixels);
  const std::int64_t width = found.right - found.left + 1, height = found.bottom - found.top + 1;
  ASSERT_EQ(width % cells.columns(), 0) << width << " dots for " << cells.columns() << " cells at " << dpi;
  ASSERT_EQ(height % cells.rows(), 0);
  const std::int64_t across = width / cells.columns(), down = height / cells.rows();
  const Shader shader({}, numbers_in(cells));
  for (std::int64_t i = 0; i < cells.rows(); ++i)
    for (std::int64_t j = 0; j < cells.columns(); ++j)
      ASSERT_EQ(pixels.at(found.left + j * across + across / 2, found.top + i * down + down / 2),
                shader.colour(cells.row(i)[j]))
          << "cell " << i << ", " << j << " at " << dpi;
}

TEST(Png, CellsHaveTheirColoursAndWholePixelsAtAnyResolution) {
  for (const double dpi : {72.0, 96.0, 150.0, 211.0, 300.0}) {
    Heatmap map = test::heatmap(9, 13);
    map.bar = false;
    const nn::Matrix cells = test::copy_of(map.cells);
    expect_cells(std::move(map), cells, dpi);
  }
}

TEST(Png, HasOnePixelPerCellOfALargeTable) {
  Heatmap map = test::heatmap(2048, 2048);
  map.bar = false;
  const nn::Matrix cells = test::copy_of(map.cells);
  expect_cells(std::move(map), cells, 150);
}

TEST(Png, IsLargerAtAHigherResolution) {
  const Figure figure = test::heatmap(5, 5);
  const Pixels low = test::decoded(draw(figure, Output{.dpi = 100})),
               high = test::decoded(draw(figure, Output{.dpi = 300}));
  EXPECT_NEAR(static_cast<double>(high.width) / static_cast<double>(low.width), 3, 0.05);
}

TEST(Files, AreDeterministic) {
  const std::vector<test::Sample> samples = test::samples();
  const auto files = [&] {
    std::vector<std::string> drawn;
    for (const Format format : {Format::png, Format::svg, Format::pdf}) {
      for (const test::Sample& sample : samples) drawn.push_back(draw(sample.figure, Output{.format = format}));
    }
    return drawn;
  };
  const std::vector<std::string> first = files();
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // a PDF knows seconds
  const std::vector<std::string> again = files();
  for (std::size_t n = 0; n < first.size(); ++n) EXPECT_EQ(first[n], again[n]) << samples[n % samples.size()].name;
}

TEST(Pdf, HasTheHeaderAndTrailerOfAPdf) {
  for (const test::Sample& sample : test::samples()) {
    const std::string pdf = draw(sample.figure, Output{.format = Format::pdf});
    EXPECT_TRUE(pdf.starts_with("%PDF-1.")) << sample.name;
    EXPECT_NE(pdf.rfind("%%EOF"), std::string::npos) << sample.name;
  }
}

TEST(Pdf, StoresLabelsAsText) {
  if (std::system("pdftotext -v >/dev/null 2>&1") != 0) GTEST_SKIP() << "pdftotext is not here";
  Heatmap map = test::heatmap(4, 4);
  map.rows = {"[CLS]", "the", "喜欢", "##ing"};
  map.columns.clear();
  map.title = "A title";
  const attn::test::TemporaryFolder folder;
  const std::string file = folder.write("x.pdf", draw(Figure(std::move(map)), Output{.format = Format::pdf})).string();
  ASSERT_EQ(std::system(("pdftotext -layout '" + file + "' '" + file + ".txt'").c_str()), 0);
  const std::string text = folder.read("x.pdf.txt");
  for (const char* word : {"[CLS]", "the", "喜欢", "##ing", "A title", "Key"})
    EXPECT_NE(text.find(word), std::string::npos) << word << " in " << text;
}

TEST(Formats, FollowFromTheFileName) {
  EXPECT_EQ(format_of("a/b.png"), Format::png);
  EXPECT_EQ(format_of("b.SVG"), Format::svg);
  EXPECT_EQ(format_of("x.y.pdf"), Format::pdf);
  for (const char* wrong : {"x", "x.jpg", "png", ".png.gz"})
    EXPECT_THROW(format_of(wrong), std::invalid_argument) << wrong;
}

std::string figure_refusal(const Figure& figure, const Output& output = {}) {
  try {
    draw(figure, output);
  } catch (const std::invalid_argument& wrong) {
    EXPECT_EQ(std::string(wrong.what()).find('\n'), std::string::npos);
    return wrong.what();
  }
  return "";
}

TEST(BadFigures, WithoutCellsAreRejected) {
  EXPECT_EQ(figure_refusal(Heatmap{}), "the heatmap has nothing to draw");
  EXPECT_EQ(figure_refusal(Grid{}), "the grid has nothing to draw");
  EXPECT_EQ(figure_refusal(Overview{}), "the overview has nothing to draw");
  EXPECT_EQ(figure_refusal(HeadView{}), "the head view has nothing to draw");
  EXPECT_EQ(figure_refusal(MaskPicture{}), "the mask has nothing to draw");
  EXPECT_EQ(figure_refusal(Bars{}), "the bar chart has nothing to draw");
  EXPECT_EQ(figure_refusal(Curves{}), "the chart has nothing to draw");
}

TEST(BadFigures, NeedAsManyLabelsAsCells) {
  Heatmap map = test::heatmap(3, 4);
  map.columns.pop_back();
  EXPECT_EQ(figure_refusal(std::move(map)), "3 labels for 4 columns; there must be as many, or none");
}

TEST(BadFigures, NeedKnownColoursAndFiniteNumbers) {
  Heatmap map = test::heatmap(2, 2);
  map.shade.cmap = "jet";
  EXPECT_NE(figure_refusal(std::move(map)).find("there is no colour map 'jet'"), std::string::npos);
  map = test::heatmap(2, 2);
  map.shade.range = Range{1, 0};
  EXPECT_NE(figure_refusal(std::move(map)).find("is empty"), std::string::npos);
  map = test::heatmap(2, 2);
  map.cells.data()[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(figure_refusal(std::move(map)), "cell (1, 1) is not a finite number and has no colour");
}

TEST(BadFigures, NeedCurvesThatFitTheirAxes) {
  Curves curves;
  curves.curves.push_back({"loss", {1, 2, 3}, {1, 2}});
  EXPECT_EQ(figure_refusal(curves), "curve 'loss' has 3 x values for 2 y values");
  curves.curves[0].y = {1, 0, 2};
  curves.log_y = true;
  EXPECT_EQ(figure_refusal(curves), "curve 'loss' reaches 0, which a log axis cannot show");
  curves.curves[0].y[1] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(figure_refusal(curves), "a number of curve 'loss' is not finite");
}

TEST(BadFigures, NeedOneWeightPerPairInEachHead) {
  HeadView view;
  view.queries = {"a", "b"};
  view.keys = {"a"};
  view.heads.push_back({"Head 3", test::weights(2, 2, 1)});
  EXPECT_EQ(figure_refusal(std::move(view)), "head 'Head 3' has 2 x 2 weights for 2 queries and 1 keys");
}

TEST(BadFigures, NeedResolutionsAndSizesWithinLimits) {
  EXPECT_NE(figure_refusal(test::heatmap(2, 2), {.dpi = 0}), "");
  EXPECT_NE(figure_refusal(test::heatmap(2, 2), {.dpi = std::numeric_limits<double>::quiet_NaN()}), "");
  EXPECT_NE(figure_refusal(test::heatmap(1, 40000)).find("limit for PNG is 32767"), std::string::npos);
}

TEST(OddFigures, CanBeDrawn) {
  const auto drawn = [](Figure figure) {
    for (const Format format : {Format::png, Format::svg, Format::pdf})
      EXPECT_GT(draw(figure, Output{.format = format}).size(), 100u);
  };
  Heatmap zeros = test::heatmap(1, 1);
  zeros.cells.data()[0] = 0;
  zeros.rows = zeros.columns = {""};
  drawn(std::move(zeros));
  drawn(test::heatmap(1, 700));
  drawn(test::heatmap(700, 1));
  Heatmap bare;
  bare.cells = test::weights(3, 3, 1);
  bare.x_label = bare.y_label = bare.bar_label = "";
  drawn(std::move(bare));
  Heatmap wordy = test::heatmap(2, 2);
  wordy.rows = {std::string(5000, 'w'), "我喜欢学习AI技术我喜欢学习AI技术我喜欢学习AI技术我喜欢学习AI技术"};
  wordy.title = wordy.caption = std::string(3000, 'x');
  drawn(std::move(wordy));
  drawn(Bars{.bars = {{"none", 0}}, .title = "", .x_label = "", .caption = ""});
  Curves point;
  point.curves.push_back({"one", {3}, {3}});
  drawn(std::move(point));
}

TEST(GridColumns, AreTwoRowsOfFourForEightAndNearlySquareOtherwise) {
  const auto columns = [](std::int64_t panels) {
    Grid grid;
    grid.panels.resize(static_cast<std::size_t>(panels));
    return columns_of(grid);
  };
  EXPECT_EQ(columns(8), 4);
  EXPECT_EQ(columns(12), 4);
  EXPECT_EQ(columns(16), 4);
  EXPECT_EQ(columns(4), 2);
  EXPECT_EQ(columns(1), 1);
  for (std::int64_t panels = 1; panels < 150; ++panels) {
    const std::int64_t rows = (panels + columns(panels) - 1) / columns(panels);
    EXPECT_GE(columns(panels), rows) << panels;
    EXPECT_LE(columns(panels) * rows - panels, rows) << panels << ": too many empty places";
  }
}

}  // namespace
}  // namespace attn::figure
