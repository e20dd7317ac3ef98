// figure/scene/scene.h - a picture as a list of marks, in points (1/72 inch) from the top left, which every format
// draws the same way.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "figure/colour/colour_map.h"

namespace attn::figure {

struct Point {
  double x = 0, y = 0;
};

struct Box {
  double x = 0, y = 0, width = 0, height = 0;

  [[nodiscard]] double right() const noexcept { return x + width; }
  [[nodiscard]] double bottom() const noexcept { return y + height; }
};

// A table of coloured cells with sharp edges.
struct Tiles {
  Box box;
  std::int64_t rows = 0, columns = 0;
  std::vector<std::uint8_t> steps;  // [rows, columns], indices into the palette
  std::vector<Colour> palette;      // at most 256
};

struct Area {
  std::vector<Point> outline;
  Colour colour;
};

struct Stroke {
  std::vector<Point> points;
  Colour colour;
  double width = 0.5;
  double opacity = 1;
  int dash = 0;  // as in HeadStyle
};

enum class Anchor : std::uint8_t { start, middle, end };  // left, middle, right, for right-to-left text too

// One line of text. `at` is half-way up its capital letters.
struct Writing {
  Point at;
  std::string text;
  double size = 9;
  Anchor anchor = Anchor::start;
  double angle = 0;  // degrees, counter-clockwise
  Colour colour = {0x1a, 0x1a, 0x1a};
  bool bold = false;
};

using Mark = std::variant<Tiles, Area, Stroke, Writing>;

struct Scene {
  double width = 0, height = 0;
  std::string title;        // for the metadata of the file
  std::vector<Mark> marks;  // later ones are on top
};

// Lengths of dashes and gaps, as multiples of the line width.
const std::vector<double>& dashes_of(int dash) noexcept;

}  // namespace attn::figure
