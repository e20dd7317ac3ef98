#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/markup.h"
#include "figure/draw/draw.h"
#include "figure/draw/png.h"
#include "figure/layout/typesetter.h"

namespace attn::figure {

namespace {

using base::base64;
using base::escaped;

// At most three decimals, without trailing zeros.
std::string svg_number(double value) {
  std::array<char, 32> text{};
  const double rounded = std::round(value * 1000) / 1000;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), rounded == 0 ? 0.0 : rounded).ptr;
  return {text.data(), end};
}

std::string hex(const Colour& colour) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "#%02x%02x%02x", colour.r, colour.g, colour.b);
  return text.data();
}

std::string path_of(const std::vector<Point>& points) {
  std::string path;
  for (const Point& point : points)
    path += (path.empty() ? "M" : "L") + svg_number(point.x) + " " + svg_number(point.y);
  return path;
}

// Pixels per cell. One would do if every viewer obeyed image-rendering; librsvg and others smooth anyway, which then
// blurs only the outermost pixels of a cell.
std::int64_t dots_of(double length, std::int64_t cells) {
  constexpr double kLeast = 2, kMost = 16;
  const double cell = length / static_cast<double>(cells);
  return cell < kLeast ? 1 : static_cast<std::int64_t>(std::min(kMost, std::ceil(2 * cell)));
}

class SvgWriter {
 public:
  explicit SvgWriter(std::string& out) : out_(out) {}

  void operator()(const Tiles& tiles) const {
    out_ += "<image x=\"" + svg_number(tiles.box.x) + "\" y=\"" + svg_number(tiles.box.y) + "\" width=\"" +
            svg_number(tiles.box.width) + "\" height=\"" + svg_number(tiles.box.height) +
            "\" preserveAspectRatio=\"none\" image-rendering=\"optimizeSpeed\" style=\"image-rendering:pixelated\" "
            "xlink:href=\"data:image/png;base64," +
            base64(palette_png(tiles, dots_of(tiles.box.width, tiles.columns), dots_of(tiles.box.height, tiles.rows))) +
            "\"/>\n";
  }

  void operator()(const Area& area) const {
    out_ += "<path d=\"" + path_of(area.outline) + "Z\" fill=\"" + hex(area.colour) + "\"/>\n";
  }

  void operator()(const Stroke& stroke) const {
    out_ += "<path d=\"" + path_of(stroke.points) + "\" fill=\"none\" stroke=\"" + hex(stroke.colour) +
            "\" stroke-width=\"" + svg_number(stroke.width) + "\"";
    if (stroke.opacity < 1) out_ += " stroke-opacity=\"" + svg_number(stroke.opacity) + "\"";
    if (stroke.points.size() > 2) out_ += " stroke-linejoin=\"round\"";
    std::string dashes;
    for (const double dash : dashes_of(stroke.dash))
      dashes += (dashes.empty() ? "" : " ") + svg_number(dash * stroke.width);
    if (!dashes.empty()) out_ += " stroke-dasharray=\"" + dashes + "\"";
    out_ += "/>\n";
  }

  void operator()(const Writing& writing) const {
    const double drop = kBaseline * writing.size;
    out_ += "<text ";
    if (writing.angle == 0) {
      out_ += "x=\"" + svg_number(writing.at.x) + "\" y=\"" + svg_number(writing.at.y + drop) + "\"";
    } else {
      out_ += "transform=\"translate(" + svg_number(writing.at.x) + " " + svg_number(writing.at.y) + ") rotate(" +
              svg_number(-writing.angle) + ")\" y=\"" + svg_number(drop) + "\"";
    }
    out_ += " font-size=\"" + svg_number(writing.size) + "\" fill=\"" + hex(writing.colour) + "\"";
    if (writing.bold) out_ += " font-weight=\"600\"";
    // SVG's start and end follow the direction of the text; Anchor's are left and right.
    const bool leftwards = typesetter_.runs_to_the_left(writing.text);
    if (leftwards) out_ += " direction=\"rtl\"";
    if (writing.anchor == Anchor::middle) {
      out_ += " text-anchor=\"middle\"";
    } else if ((writing.anchor == Anchor::end) != leftwards) {
      out_ += " text-anchor=\"end\"";
    }
    out_ += ">" + escaped(writing.text) + "</text>\n";
  }

 private:
  std::string& out_;
  Typesetter typesetter_;
};

}  // namespace

std::string draw_svg(const Scene& scene) {
  std::string out =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
      "xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"" +
      svg_number(scene.width) + "pt\" height=\"" + svg_number(scene.height) + "pt\" viewBox=\"0 0 " +
      svg_number(scene.width) + " " + svg_number(scene.height) + "\" role=\"img\" xml:space=\"preserve\" " +
      "font-family=\"" + std::string(kSvgFamilies) + "\">\n";
  if (!scene.title.empty()) out += "<title>" + escaped(scene.title) + "</title>\n";
  out += "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  const SvgWriter writer(out);
  for (const Mark& mark : scene.marks) std::visit(writer, mark);
  return out + "</svg>\n";
}

}  // namespace attn::figure
