#include "figure/scene/figure.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "engine/runtime/number_text.h"
#include "figure/draw/draw.h"
#include "figure/layout/layout.h"
#include "figure/layout/typesetter.h"
#include "figure/scene/check.h"

namespace attn::figure {

namespace {

constexpr std::array<std::pair<Scale, std::string_view>, 3> kScales = {
    {{Scale::linear, "linear"}, {Scale::square_root, "sqrt"}, {Scale::log, "log"}}};

}  // namespace

std::string_view name_of(Scale scale) noexcept {
  return std::ranges::find(kScales, scale, &std::pair<Scale, std::string_view>::first)->second;
}

std::optional<Scale> parse_scale(std::string_view name) noexcept {
  const auto found = std::ranges::find(kScales, name, &std::pair<Scale, std::string_view>::second);
  return found == kScales.end() ? std::nullopt : std::optional(found->first);
}

Format format_of(const std::filesystem::path& file) {
  std::string end = file.extension().string();
  std::ranges::transform(end, end.begin(), [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  if (end == ".png") return Format::png;
  if (end == ".svg") return Format::svg;
  if (end == ".pdf") return Format::pdf;
  throw std::invalid_argument("'" + file.string() +
                              "' does not say what kind of picture it is: end it in .png, .svg or .pdf");
}

std::string draw(const Figure& figure, const Output& output) {
  constexpr double kLeast = 20, kMost = 2400;
  if (!(output.dpi >= kLeast && output.dpi <= kMost))
    throw std::invalid_argument("dpi must be from 20 to 2400, not " + number_text(output.dpi));
  check(figure);
  const Scene scene = lay_out(figure, output.dpi);
  switch (output.format) {
    case Format::png:
      return draw_png(scene, output.dpi);
    case Format::svg:
      return draw_svg(scene);
    case Format::pdf:
      return draw_pdf(scene);
  }
  throw std::invalid_argument("the format must be PNG, SVG or PDF");
}

std::optional<char32_t> first_missing(const Figure& figure, const Output& output) {
  if (output.format == Format::svg) return std::nullopt;
  check(figure);
  const Scene scene = lay_out(figure, output.dpi);
  const Typesetter typesetter;
  for (const Mark& mark : scene.marks)
    if (const auto* writing = std::get_if<Writing>(&mark))
      if (const auto missing = typesetter.first_missing(writing->text)) return missing;
  return std::nullopt;
}

}  // namespace attn::figure
