#include "tests/figure/pictures.h"

#include <spng.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

namespace attn::figure::test {

Pixels decoded(const std::string& png) {
  const std::unique_ptr<spng_ctx, decltype(&spng_ctx_free)> context(spng_ctx_new(0), &spng_ctx_free);
  const auto must = [](int result) {
    if (result != 0) throw std::runtime_error(std::string("no PNG: ") + spng_strerror(result));
  };
  must(spng_set_png_buffer(context.get(), png.data(), png.size()));
  spng_ihdr header{};
  must(spng_get_ihdr(context.get(), &header));
  std::size_t size = 0;
  must(spng_decoded_image_size(context.get(), SPNG_FMT_RGB8, &size));
  Pixels pixels{header.width, header.height, std::vector<std::uint8_t>(size)};
  must(spng_decode_image(context.get(), pixels.rgb.data(), size, SPNG_FMT_RGB8, 0));
  return pixels;
}

std::vector<std::string> hard_tokens() {
  return {"[CLS]", " the", "##ing", "我", "喜欢", "技术", "שלום", "مرحبا", "🐱", "\n", "a<b&\"c\"", "\xf0\x9f"};
}

nn::Matrix weights(std::int64_t rows, std::int64_t columns, std::uint32_t seed) {
  nn::Matrix cells(rows, columns);
  std::uint32_t state = seed;
  for (std::int64_t i = 0; i < rows; ++i) {
    float sum = 0;
    for (std::int64_t j = 0; j < columns; ++j) {
      state = state * 1664525u + 1013904223u;  // Numerical Recipes
      const auto share = static_cast<float>(state >> 8) / static_cast<float>(1u << 24);
      cells.row(i)[j] = std::pow(share, 8.0f) + 1e-4f;
      sum += cells.row(i)[j];
    }
    for (std::int64_t j = 0; j < columns; ++j) cells.row(i)[j] /= sum;
  }
  return cells;
}

nn::Matrix table(std::int64_t rows, std::int64_t columns, const std::vector<float>& cells) {
  nn::Matrix matrix(rows, columns);
  std::ranges::copy(cells, matrix.data());
  return matrix;
}

nn::Matrix copy_of(const nn::Matrix& cells) {
  nn::Matrix copy(cells.rows(), cells.columns());
  std::copy_n(cells.data(), cells.rows() * cells.columns(), copy.data());
  return copy;
}

namespace {

std::vector<std::string> numbers(std::int64_t count) {
  std::vector<std::string> all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back(std::to_string(i));
  return all;
}

Grid grid(std::int64_t heads) {
  Grid grid;
  grid.title = "Layer 2";
  grid.shade = {.cmap = "Blues", .range = Range{0, 1}};
  for (std::int64_t h = 0; h < heads; ++h) {
    Heatmap panel;
    panel.cells = weights(5, 5, static_cast<std::uint32_t>(h + 1));
    panel.rows = panel.columns = {"[CLS]", "The", "cat", "sat", "[SEP]"};
    panel.title = "Head " + std::to_string(h);
    grid.panels.push_back(std::move(panel));
  }
  return grid;
}

Overview overview() {
  Overview all;
  all.layers = 3;
  all.heads = 5;
  all.title = "Three layers";
  for (std::uint32_t i = 0; i < 15; ++i) all.cells.push_back(weights(10, 10, i + 1));
  return all;
}

HeadView headview() {
  HeadView view;
  view.queries = view.keys = {"[CLS]", "the", "cat", "sat", "on", "the", "mat", ".", "[SEP]"};
  view.title = "Layer 2";
  view.threshold = 0.05;
  for (std::uint32_t h = 0; h < 4; ++h) view.heads.push_back({"Head " + std::to_string(h), weights(9, 9, h + 1)});
  return view;
}

MaskPicture mask() {
  MaskPicture mask;
  mask.rows = mask.columns = 12;
  for (std::int64_t i = 0; i < 12; ++i)
    for (std::int64_t j = 0; j < 12; ++j) mask.seen.push_back(j <= i && i - j <= 4);
  mask.row_labels = mask.column_labels = numbers(12);
  mask.title = "causal & window(4)";
  return mask;
}

Bars bars() {
  return {.bars = {{"previous token", 0.92}, {"学习", 0.31}, {"sink", -0.2}, {"broad", 0.0004}},
          .title = "Effect",
          .x_label = "Score",
          .caption = ""};
}

Curves curves() {
  Curves all;
  for (int c = 0; c < 3; ++c) {
    Curves::Curve curve{.name = "Curve " + std::to_string(c), .x = {}, .y = {}};
    for (int i = 0; i < 8; ++i) {
      curve.x.push_back(128 * std::pow(2, i));
      curve.y.push_back(0.01 * std::pow(2 + c, i));
    }
    all.curves.push_back(std::move(curve));
  }
  all.log_x = all.log_y = true;
  all.title = "Time by length";
  all.x_label = "Tokens";
  all.y_label = "Milliseconds";
  return all;
}

}  // namespace

Heatmap heatmap(std::int64_t rows, std::int64_t columns, std::uint32_t seed) {
  Heatmap map;
  map.cells = weights(rows, columns, seed);
  map.rows = numbers(rows);
  map.columns = numbers(columns);
  return map;
}

std::vector<Sample> samples() {
  Heatmap map = heatmap(12, 12);
  map.rows = map.columns = hard_tokens();
  map.title = "Tokens of many scripts";
  map.values = true;
  std::vector<Sample> all;
  all.push_back({"heatmap", std::move(map)});
  all.push_back({"grid", grid(8)});
  all.push_back({"overview", overview()});
  all.push_back({"headview", headview()});
  all.push_back({"mask", mask()});
  all.push_back({"bars", bars()});
  all.push_back({"curves", curves()});
  return all;
}

}  // namespace attn::figure::test
