#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <wchar.h>

#include <algorithm>
#include <clocale>
#include <cmath>
#include <regex>
#include <sstream>

#include "figure/colour/shade.h"
#include "figure/scene/figure.h"
#include "figure/terminal/columns.h"
#include "figure/terminal/paint.h"

namespace attn::figure {
namespace {

using Colours = Screen::Colours;
using testing::HasSubstr;
using testing::Not;

const std::vector<Colours> kAll = {Colours::none, Colours::indexed, Colours::direct};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string bare(const std::string& text) {
  static const std::regex kEscape("\x1b\\[[0-9;]*m");
  return std::regex_replace(text, kEscape, "");
}

// The C library's own count, as an independent reference.
int columns_by_libc(const std::string& text) {
  const char* const before = std::setlocale(LC_CTYPE, "C.UTF-8");
  EXPECT_NE(before, nullptr);
  std::mbstate_t state{};
  int columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    wchar_t wide = 0;
    const std::size_t bytes = std::mbrtowc(&wide, text.data() + at, text.size() - at, &state);
    EXPECT_LT(bytes, text.size() + 1) << "not UTF-8: " << text;
    if (bytes == 0 || bytes > text.size()) return -1;
    columns += std::max(0, wcwidth(wide));
    at += bytes;
  }
  return columns;
}

nn::Matrix table(std::int64_t rows, std::int64_t columns) {
  nn::Matrix cells(rows, columns);
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    cells.data()[i] = static_cast<float>((i * 37) % 101) / 100.0F;
  }
  return cells;
}

std::vector<std::string> labels(std::int64_t count, int flavour) {
  static const std::vector<std::vector<std::string>> kFlavours = {
      {"[CLS]", "the", " quick", "x"},
      {"小", "明", "把", "苹果给了小红她很开心"},
      {"😀", "👨‍👩‍👧", "é", "e\u0301"},
      {"an_extremely_long_token_that_fits_nowhere_at_all", "\x1b[31mred", "a\nb", "\xff\xfe"},
  };
  std::vector<std::string> out;
  const auto& from = kFlavours[static_cast<std::size_t>(flavour)];
  for (std::int64_t n = 0; n < count; ++n) out.push_back(from[static_cast<std::size_t>(n) % from.size()]);
  return out;
}

Heatmap heatmap(std::int64_t rows, std::int64_t columns, int flavour) {
  Heatmap map;
  map.cells = table(rows, columns);
  map.rows = labels(rows, flavour);
  map.columns = labels(columns, flavour);
  map.title = "A title, 标题, that is long enough to be broken into lines where the screen is narrow";
  map.caption = "each cell is the max of 8 x 8 weights";
  return map;
}

std::vector<Figure> every_figure(int flavour) {
  std::vector<Figure> all;
  for (const std::int64_t size : {1, 5, 12, 40, 300}) {
    all.emplace_back(heatmap(size, size, flavour));
    Heatmap other = heatmap(2 * size, size, flavour);
    other.values = true;
    other.shade.cmap = "RdBu";
    all.emplace_back(std::move(other));
    MaskPicture mask;
    mask.rows = mask.columns = size;
    mask.seen.assign(static_cast<std::size_t>(size * size), true);
    if (flavour > 0) mask.row_labels = mask.column_labels = labels(size, flavour);
    mask.title = mask.caption = "mask";
    all.emplace_back(std::move(mask));
    Grid grid;
    for (int p = 0; p < 8; ++p) grid.panels.push_back(heatmap(size, size, flavour));
    all.emplace_back(std::move(grid));
    Overview overview;
    overview.layers = 2;
    overview.heads = size;
    for (std::int64_t h = 0; h < 2 * size; ++h) overview.cells.push_back(table(9, 9));
    all.emplace_back(std::move(overview));
    HeadView view;
    view.queries = labels(size, flavour);
    view.keys = labels(3, flavour);
    view.heads.push_back({labels(4, flavour)[3], table(size, 3)});
    view.heads.push_back({"head 1", table(size, 3)});
    all.emplace_back(std::move(view));
    Bars bars;
    for (const std::string& label : labels(size, flavour))
      bars.bars.push_back({label, std::sin(0.7 * static_cast<double>(size))});
    all.emplace_back(std::move(bars));
    Curves curves;
    curves.curves.push_back({labels(4, flavour)[3], {1, 2, 300}, {0.001, 5, 1e6}});
    curves.curves.push_back({"b", {2}, {1}});
    curves.log_x = curves.log_y = size > 5;
    curves.x_label = curves.y_label = "tokens";
    all.emplace_back(std::move(curves));
  }
  return all;
}

TEST(Screen, NoLineIsWiderThanTheScreen) {
  for (int flavour = 0; flavour < 4; ++flavour) {
    for (const Figure& figure : every_figure(flavour)) {
      for (const int width : {20, 31, 40, 57, 80, 133}) {
        for (const Colours colours : kAll) {
          for (const std::string& line : lines_of(draw(figure, Screen{width, colours}))) {
            ASSERT_LE(columns_by_libc(bare(line)), width)
                << "figure " << figure.index() << ", labels " << flavour << ": " << bare(line);
          }
        }
      }
    }
  }
}

TEST(Screen, PrintsNoEscapesWithoutColoursEvenFromLabels) {
  for (int flavour = 0; flavour < 4; ++flavour) {
    for (const Figure& figure : every_figure(flavour)) {
      const std::string text = draw(figure, Screen{80, Colours::none});
      EXPECT_THAT(text, Not(HasSubstr("\x1b"))) << figure.index();
    }
  }
}

TEST(Screen, ClosesEveryEscapeOnItsLine) {
  static const std::regex kStyled("\x1b\\[[1-9][0-9;]*m[^\x1b]*\x1b\\[0m");
  for (int flavour = 0; flavour < 4; ++flavour) {
    for (const Figure& figure : every_figure(flavour)) {
      for (const Colours colours : {Colours::indexed, Colours::direct}) {
        for (const std::string& line : lines_of(draw(figure, Screen{60, colours}))) {
          EXPECT_THAT(std::regex_replace(line, kStyled, ""), Not(HasSubstr("\x1b"))) << figure.index();
        }
      }
    }
  }
}

TEST(Screen, PrintsTheCellsRowByRowToAPipe) {
  Heatmap map = heatmap(5, 5, 0);
  map.values = true;
  const auto lines = lines_of(draw(Figure(std::move(map)), Screen{80, Colours::none}));
  const nn::Matrix cells = table(5, 5);
  std::size_t found = 0;
  for (const std::string& line : lines) {
    std::istringstream in(line);
    std::string label;
    std::vector<double> numbers;
    in >> label;
    for (double number = 0; in >> number;) numbers.push_back(number);
    if (numbers.size() != 5) continue;
    for (std::size_t j = 0; j < 5; ++j) EXPECT_NEAR(numbers[j], cells.row(static_cast<std::int64_t>(found))[j], 5e-4);
    ++found;
  }
  EXPECT_EQ(found, 5);
}

std::string code_of(int what, const Colour& c) {
  return std::to_string(what) + ";2;" + std::to_string(c.r) + ";" + std::to_string(c.g) + ";" + std::to_string(c.b);
}

TEST(Screen, HalfBlocksHaveTheUpperRowAsForegroundAndTheLowerAsBackground) {
  Heatmap map;
  map.cells = nn::Matrix(40, 3);  // too high to be enlarged
  for (int i = 0; i < 120; ++i) map.cells.data()[i] = static_cast<float>(i) / 119;
  map.bar = false;
  const Shader shader(map.shade, {0, 1});
  const auto lines = lines_of(draw(Figure(std::move(map)), Screen{80, Colours::direct}));
  ASSERT_EQ(lines.size(), 21);  // the axes' names, then two rows a line
  for (int n = 0; n < 20; ++n) {
    std::string expected;
    for (int c = 0; c < 3; ++c) {
      const double upper = (6.0 * n + c) / 119, lower = (6.0 * n + 3 + c) / 119;
      expected += "\x1b[" + code_of(38, shader.colour(upper)) + ";" + code_of(48, shader.colour(lower)) + "m▀\x1b[0m";
    }
    EXPECT_EQ(lines[static_cast<std::size_t>(n) + 1], expected);
  }
}

TEST(Screen, LabelledCellsHaveTheColourOfTheirNumber) {
  Heatmap map = heatmap(3, 3, 0);
  const Shader shader(map.shade, numbers_in(map.cells));
  const std::string text = draw(Figure(std::move(map)), Screen{80, Colours::direct});
  const nn::Matrix cells = table(3, 3);
  std::size_t at = 0;
  for (int i = 0; i < 9; ++i) {
    at = text.find("\x1b[" + code_of(48, shader.colour(cells.data()[i])), at);
    ASSERT_NE(at, std::string::npos) << "cell " << i;
    ++at;
  }
}

TEST(Screen, KeepsOneLargeWeightAmongManyVisibleAndSaysHow) {
  Heatmap map;
  map.cells = nn::Matrix(300, 300);
  std::fill_n(map.cells.data(), 300 * 300, 0.0F);
  map.cells.row(150)[299] = 1;
  const std::string text = draw(Figure(std::move(map)), Screen{80, Colours::none});
  EXPECT_THAT(text, HasSubstr("Here each cell is the largest of 3 or 4 x 3 or 4."));
  const auto lines = lines_of(text);
  EXPECT_EQ(std::ranges::count_if(lines,
                                  [](const std::string& line) { return line.ends_with("█") && line.starts_with("·"); }),
            1);
}

TEST(Screen, NegativeNumbersHaveASignWithoutColours) {
  Heatmap map;
  map.cells = nn::Matrix(1, 2);
  map.cells.data()[0] = -0.9F;
  map.cells.data()[1] = 0.9F;
  map.shade.cmap = "RdBu";
  const auto lines = lines_of(draw(Figure(std::move(map)), Screen{80, Colours::none}));
  EXPECT_TRUE(lines[1].starts_with("-█")) << lines[1];
  EXPECT_TRUE(lines[1].ends_with("██")) << lines[1];
}

TEST(Screen, LegendNamesTheNumbersAtWhichShadesChange) {
  Heatmap map = heatmap(4, 4, 0);
  map.shade = {.cmap = "viridis", .scale = Scale::square_root, .range = Range{0, 1}};
  const std::string text = draw(Figure(std::move(map)), Screen{120, Colours::none});
  EXPECT_THAT(text, HasSubstr("(square-root scale): · < 0.0009 <= ░ < 0.0225 <= ▒ < 0.122 <= ▓ < 0.36 <= █"));
}

TEST(Screen, MaskIsDrawnPairByPair) {
  MaskPicture mask;
  mask.rows = 3;
  mask.columns = 4;
  mask.seen = {true, false, false, true, true, true, false, false, true, true, true, false};
  const auto lines = lines_of(draw(Figure(std::move(mask)), Screen{30, Colours::none}));
  ASSERT_EQ(lines.size() % 3, 1);  // the axes' names, then each row as often as its cells are enlarged
  const auto zoom = (lines.size() - 1) / 3;
  const int wide = static_cast<int>(std::max<std::size_t>(1, 2 * zoom));
  const std::string on = repeat("█", wide), off = repeat("·", wide);
  EXPECT_EQ(lines[1], on + off + off + on);
  EXPECT_EQ(lines[1 + zoom], on + on + off + off);
  EXPECT_EQ(lines[1 + 2 * zoom], on + on + on + off);
}

TEST(Screen, HeadViewListsTheLargestWeightsFirst) {
  HeadView view;
  view.queries = {"fox"};
  view.keys = {"a", "b", "c", "d"};
  nn::Matrix weights(1, 4);
  std::ranges::copy(std::vector{0.1F, 0.5F, 0.15F, 0.25F}, weights.data());
  view.heads.push_back({"head 0", std::move(weights)});
  const auto lines = lines_of(draw(Figure(std::move(view)), Screen{60, Colours::none}));
  ASSERT_EQ(lines.size(), 4);
  EXPECT_TRUE(lines[0].starts_with("fox → b 0.500 ██")) << lines[0];
  EXPECT_TRUE(lines[1].starts_with("    → d 0.250 ██")) << lines[1];
  EXPECT_TRUE(lines[2].starts_with("    → c 0.150 ██")) << lines[2];
  EXPECT_EQ(lines[3], "The 3 largest weights of each query, 90 % of all.");
}

TEST(Screen, RejectsTheSameFiguresAsFilesDo) {
  EXPECT_THROW(draw(Figure(Heatmap{}), Screen{}), std::invalid_argument);
  Heatmap map = heatmap(2, 2, 0);
  map.cells.data()[3] = NAN;
  EXPECT_THROW(draw(Figure(std::move(map)), Screen{}), std::invalid_argument);
}

TEST(Paint, IndexedColourIsTheNearestOfXtermsFixedOnes) {
  constexpr int kLevels[] = {0, 95, 135, 175, 215, 255};
  const auto distance = [](const Colour& a, int r, int g, int b) {
    return (a.r - r) * (a.r - r) + (a.g - g) * (a.g - g) + (a.b - b) * (a.b - b);
  };
  const auto of = [&](const Colour& colour, int n) {
    if (n >= 232) return distance(colour, 8 + 10 * (n - 232), 8 + 10 * (n - 232), 8 + 10 * (n - 232));
    return distance(colour, kLevels[(n - 16) / 36], kLevels[(n - 16) / 6 % 6], kLevels[(n - 16) % 6]);
  };
  for (int n = 0; n < 4096; ++n) {
    const Colour colour{static_cast<std::uint8_t>(17 * (n / 256)), static_cast<std::uint8_t>(17 * (n / 16 % 16)),
                        static_cast<std::uint8_t>(17 * (n % 16))};
    int best = 16;
    for (int m = 16; m < 256; ++m) {
      if (of(colour, m) < of(colour, best)) best = m;
    }
    EXPECT_EQ(of(colour, nearest_indexed(colour)), of(colour, best)) << n;
  }
}

TEST(Paint, BarIsAsLongAsItsShareToAnEighth) {
  EXPECT_EQ(bar_of(0.5, 4), "██  ");
  EXPECT_EQ(bar_of(0.28125, 4), "█▏  ");
  EXPECT_EQ(bar_of(7, 3), "███");
  EXPECT_EQ(bar_of(-1, 3), "   ");
}

TEST(Columns, AgreeWithTheCLibrary) {
  for (const std::string text : {"", "abc", "小明", "e\u0301", "é", "😀!", "שלום", "ﬁ", "한국어", "ｆｕｌｌ"}) {
    EXPECT_EQ(columns_of(text), columns_by_libc(text)) << text;
  }
}

TEST(Columns, FittedTextHasExactlyTheWidth) {
  for (int width = 1; width < 12; ++width) {
    for (const std::string text : {"", "abc", "小明把苹果", "a小b明c", "😀😀😀😀"}) {
      EXPECT_EQ(columns_by_libc(fitted(text, width)), width) << text;
      EXPECT_EQ(columns_by_libc(fitted(text, width, true)), width) << text;
    }
  }
  EXPECT_EQ(fitted("abcdef", 4), "abc…");
  EXPECT_EQ(fitted("小明把", 4), "小… ");
}

TEST(Columns, WrappedTextLosesNoWord) {
  EXPECT_THAT(wrapped("one two three", 7), testing::ElementsAre("one two", "three"));
  EXPECT_THAT(wrapped("one  two", 80), testing::ElementsAre("one two"));
  EXPECT_THAT(wrapped("abcdefghij k", 4), testing::ElementsAre("abcd", "efgh", "ij k"));
  EXPECT_THAT(wrapped("小明把苹果", 4), testing::ElementsAre("小明", "把苹", "果"));
}

TEST(Columns, ControlCharactersBecomeVisible) {
  EXPECT_EQ(on_one_line("a\nb\tc\x1b[1m"), "a\\nb\\tc\\x1b[1m");
  EXPECT_EQ(on_one_line("\xc2\x9b"), "\\x9b");  // a terminal may take it for an escape
  EXPECT_EQ(on_one_line("x\xffy"), "x\uFFFDy");
}

}  // namespace
}  // namespace attn::figure
