#include <glib.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "figure/colour/shade.h"
#include "figure/scene/label.h"
#include "tests/figure/pictures.h"

namespace attn::figure {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

struct Element {
  std::string name, text;
  std::map<std::string, std::string> attributes;
};

// Parses with GLib; a file that is not well-formed fails the test.
std::vector<Element> elements_of(const std::string& xml) {
  std::vector<Element> elements;
  GMarkupParser parser{};
  parser.start_element = [](GMarkupParseContext*, const char* name, const char** names, const char** values, void* to,
                            GError**) {
    Element element{name, "", {}};
    for (; *names != nullptr; ++names, ++values) element.attributes[*names] = *values;
    static_cast<std::vector<Element>*>(to)->push_back(std::move(element));
  };
  parser.text = [](GMarkupParseContext*, const char* text, gsize size, void* to, GError**) {
    auto& all = *static_cast<std::vector<Element>*>(to);
    if (!all.empty()) all.back().text.append(text, size);
  };
  const std::unique_ptr<GMarkupParseContext, decltype(&g_markup_parse_context_free)> context(
      g_markup_parse_context_new(&parser, GMarkupParseFlags{}, &elements, nullptr), &g_markup_parse_context_free);
  GError* error = nullptr;
  const bool good =
      g_markup_parse_context_parse(context.get(), xml.data(), static_cast<gssize>(xml.size()), &error) != 0 &&
      g_markup_parse_context_end_parse(context.get(), &error) != 0;
  EXPECT_TRUE(good) << (error != nullptr ? error->message : "");
  g_clear_error(&error);
  return elements;
}

std::string unpacked(std::string_view base64) {
  gsize size = 0;
  guchar* bytes = g_base64_decode(std::string(base64).c_str(), &size);
  std::string out(reinterpret_cast<const char*>(bytes), size);
  g_free(bytes);
  return out;
}

std::string text_of(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::vector<std::string> texts_of(const std::vector<Element>& elements) {
  std::vector<std::string> texts;
  for (const Element& element : elements)
    if (element.name == "text") texts.push_back(text_of(element.text));
  return texts;
}

std::string svg_of(Figure figure) { return draw(figure, Output{.format = Format::svg}); }

TEST(Svg, IsWellFormedForEveryFigure) {
  for (const test::Sample& sample : test::samples()) {
    const std::vector<Element> elements = elements_of(draw(sample.figure, Output{.format = Format::svg}));
    ASSERT_FALSE(elements.empty()) << sample.name;
    EXPECT_EQ(elements.front().name, "svg");
    EXPECT_GT(texts_of(elements).size(), 3u) << sample.name;
  }
}

TEST(Svg, StoresLabelsAsText) {
  Heatmap map = test::heatmap(12, 12);
  map.rows = map.columns = test::hard_tokens();
  map.title = "A <title> & more";
  map.caption = "A caption.";
  map.shade.scale = Scale::log;
  const std::vector<Element> elements = elements_of(svg_of(std::move(map)));
  const std::vector<std::string> texts = texts_of(elements);
  for (const std::string& token : test::hard_tokens()) {
    EXPECT_EQ(std::ranges::count(texts, visible(token)), 2) << token;
  }
  for (const char* word : {"Query", "Key", "Attention weight (log scale)", "A <title> & more", "A caption.", "0.01"})
    EXPECT_THAT(texts, Contains(word));
}

TEST(Svg, MarksRightToLeftText) {
  Heatmap map = test::heatmap(2, 2);
  map.rows = {"שלום!", "abc"};
  map.columns.clear();
  for (const Element& element : elements_of(svg_of(std::move(map)))) {
    if (text_of(element.text) == "שלום!") {
      EXPECT_EQ(element.attributes.at("direction"), "rtl");
      EXPECT_FALSE(element.attributes.contains("text-anchor"));  // starts at its right end
    } else if (text_of(element.text) == "abc") {
      EXPECT_FALSE(element.attributes.contains("direction"));
      EXPECT_EQ(element.attributes.at("text-anchor"), "end");
    }
  }
}

TEST(Svg, StoresTheTableAsOneImageWithTheRightColours) {
  for (const std::int64_t size : {std::int64_t{7}, std::int64_t{90}, std::int64_t{300}}) {
    Heatmap map = test::heatmap(size, size);
    map.bar = false;
    const nn::Matrix cells = test::copy_of(map.cells);
    std::vector<Element> images = elements_of(svg_of(std::move(map)));
    std::erase_if(images, [](const Element& element) { return element.name != "image"; });
    ASSERT_EQ(images.size(), 1u);
    const std::string& link = images[0].attributes.at("xlink:href");
    constexpr std::string_view kStart = "data:image/png;base64,";
    ASSERT_TRUE(link.starts_with(kStart));
    const test::Pixels pixels = test::decoded(unpacked(std::string_view(link).substr(kStart.size())));
    ASSERT_EQ(pixels.width % size, 0);
    const std::int64_t cell = pixels.width / size;
    const Shader shader({}, numbers_in(cells));
    for (std::int64_t i = 0; i < size; ++i)
      for (std::int64_t j = 0; j < size; ++j)
        ASSERT_EQ(pixels.at(j * cell + cell / 2, i * cell + cell / 2), shader.colour(cells.row(i)[j]))
            << i << ", " << j;
  }
}

TEST(Svg, IsUnderAMegabyteFor512Tokens) { EXPECT_LT(svg_of(test::heatmap(512, 512)).size(), 1000000u); }

TEST(Svg, SaysThatLabelsAreLeftOut) {
  const std::vector<std::string> few = texts_of(elements_of(svg_of(test::heatmap(30, 30))));
  EXPECT_THAT(few, Not(Contains(HasSubstr("labelled"))));
  EXPECT_THAT(few, Contains("29"));
  const std::vector<std::string> many = texts_of(elements_of(svg_of(test::heatmap(200, 200))));
  EXPECT_THAT(many, Contains("Every 5th row and column is labelled."));
  EXPECT_THAT(many, Contains("195"));
  EXPECT_THAT(many, Not(Contains("194")));
}

TEST(Svg, SaysHowMuchAHeadViewLeavesOut) {
  HeadView view;
  view.queries = {"a", "b"};
  view.keys = {"c", "d"};
  view.heads.push_back({"Head 0", test::table(2, 2, {0.9f, 0.1f, 0.95f, 0.05f})});
  view.threshold = 0.08;
  const std::vector<Element> elements = elements_of(svg_of(std::move(view)));
  EXPECT_THAT(texts_of(elements), Contains("Weights below 0.08 are not drawn; they hold 2.5% of the attention."));
  const auto is_line = [](const Element& e) { return e.name == "path" && e.attributes.contains("stroke-opacity"); };
  EXPECT_EQ(std::ranges::count_if(elements, is_line), 3);
}

TEST(Svg, ShowsAWeightTheSameForAnyNumberOfHeads) {
  const auto opacity = [](std::int64_t heads) {
    HeadView view;
    view.queries = view.keys = {"a"};
    for (std::int64_t h = 0; h < heads; ++h) view.heads.push_back({"Head", test::table(1, 1, {0.3f})});
    for (const Element& element : elements_of(svg_of(std::move(view))))
      if (element.attributes.contains("stroke-opacity")) return std::stod(element.attributes.at("stroke-opacity"));
    return 0.0;
  };
  EXPECT_GT(opacity(1), 0.4);
  EXPECT_EQ(opacity(1), opacity(32));
}

TEST(Svg, PrintsNumbersInCellsIfTheyFit) {
  Heatmap map = test::heatmap(8, 8);
  map.values = true;
  const std::string first = cell_text(map.cells.data()[0]);
  EXPECT_THAT(texts_of(elements_of(svg_of(std::move(map)))), Contains(first));
  Heatmap large = test::heatmap(100, 100);
  large.values = true;
  const std::vector<std::string> texts = texts_of(elements_of(svg_of(std::move(large))));
  EXPECT_LT(texts.size(), 200u);
  EXPECT_THAT(texts, Contains(HasSubstr("The cells are too small for numbers.")));
}

}  // namespace
}  // namespace attn::figure
