// figure/layout/sheet.h - a scene under construction: draw anywhere, and finish() finds the edges.
#pragma once

#include <string>
#include <vector>

#include "figure/layout/typesetter.h"
#include "figure/scene/scene.h"

namespace attn::figure {

constexpr double kTextSize = 9, kSmallSize = 7.5, kTitleSize = 12;
constexpr double kHairline = 0.5;
constexpr Colour kInk = {0x1a, 0x1a, 0x1a};
constexpr Colour kQuietInk = {0x6b, 0x6b, 0x6b};
constexpr Colour kLineInk = {0x4d, 0x4d, 0x4d};
constexpr Colour kFaintInk = {0xe2, 0xe2, 0xe2};
constexpr Colour kWhite = {0xff, 0xff, 0xff};

// Coordinates may be negative: (0, 0) is wherever the layout chooses, usually the corner of the first panel.
class Sheet {
 public:
  explicit Sheet(double dpi = 72) : dot_(72 / dpi) {}

  // Rounds a length to whole pixels, at least one.
  [[nodiscard]] double dots(double length) const noexcept;

  void add(Mark mark);
  void line(Point from, Point to, const Colour& colour = kLineInk, double opacity = 1);  // a hairline
  void frame(const Box& box, const Colour& colour = kLineInk);  // around the box, outside of it
  void box(const Box& box, const Colour& colour);

  [[nodiscard]] const Box& extent() const noexcept { return extent_; }
  [[nodiscard]] const Typesetter& typesetter() const noexcept { return typesetter_; }

  // Puts the title above everything and the caption below, then crops the sheet, with a margin.
  struct Words {
    std::string title, caption;
    double title_at = 0;  // its left edge
  };
  Scene finish(const Words& words);

 private:
  void reach(Point point);
  void reach(const Mark& mark);

  double dot_;
  Typesetter typesetter_;
  Box extent_;
  std::vector<Mark> marks_;
};

}  // namespace attn::figure
