#include "figure/layout/sheet.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "figure/scene/label.h"

namespace attn::figure {

namespace {

constexpr double kMargin = 8;
constexpr double kLeastTextWidth = 260;  // minimum line width of title and caption, in points

struct MovedMark {
  double x, y;

  void operator()(Tiles& tiles) const {
    tiles.box.x += x;
    tiles.box.y += y;
  }
  void operator()(Area& area) const { all(area.outline); }
  void operator()(Stroke& stroke) const { all(stroke.points); }
  void operator()(Writing& writing) const {
    writing.at.x += x;
    writing.at.y += y;
  }

 private:
  void all(std::vector<Point>& points) const {
    for (Point& point : points) {
      point.x += x;
      point.y += y;
    }
  }
};

}  // namespace

double Sheet::dots(double length) const noexcept { return std::max(1.0, std::round(length / dot_)) * dot_; }

void Sheet::reach(Point point) {
  const double right = std::max(extent_.right(), point.x), bottom = std::max(extent_.bottom(), point.y);
  extent_.x = std::min(extent_.x, point.x);
  extent_.y = std::min(extent_.y, point.y);
  extent_.width = right - extent_.x;
  extent_.height = bottom - extent_.y;
}

void Sheet::reach(const Mark& mark) {
  if (const auto* tiles = std::get_if<Tiles>(&mark)) {
    reach({tiles->box.x, tiles->box.y});
    reach({tiles->box.right(), tiles->box.bottom()});
  } else if (const auto* area = std::get_if<Area>(&mark)) {
    for (const Point& point : area->outline) reach(point);
  } else if (const auto* stroke = std::get_if<Stroke>(&mark)) {
    for (const Point& point : stroke->points) reach(point);
  } else if (const auto* writing = std::get_if<Writing>(&mark)) {
    const double width = typesetter_.width(writing->text, {writing->size, writing->bold});
    const double start = writing->anchor == Anchor::start ? 0 : writing->anchor == Anchor::middle ? -width / 2 : -width;
    const double half = 0.62 * writing->size;  // from a descender to an accent
    const double angle = writing->angle * std::numbers::pi / 180;
    for (const double along : {start, start + width})
      for (const double across : {-half, half})
        reach({writing->at.x + along * std::cos(angle) + across * std::sin(angle),
               writing->at.y - along * std::sin(angle) + across * std::cos(angle)});
  }
}

void Sheet::add(Mark mark) {
  reach(mark);
  marks_.push_back(std::move(mark));
}

void Sheet::line(Point from, Point to, const Colour& colour, double opacity) {
  add(Stroke{.points = {from, to}, .colour = colour, .width = kHairline, .opacity = opacity});
}

void Sheet::frame(const Box& box, const Colour& colour) {
  const double out = kHairline / 2;
  const double left = box.x - out, right = box.right() + out, top = box.y - out, bottom = box.bottom() + out;
  line({left - out, top}, {right + out, top}, colour);
  line({left - out, bottom}, {right + out, bottom}, colour);
  line({left, top}, {left, bottom}, colour);
  line({right, top}, {right, bottom}, colour);
}

void Sheet::box(const Box& box, const Colour& colour) {
  add(Area{{{box.x, box.y}, {box.right(), box.y}, {box.right(), box.bottom()}, {box.x, box.bottom()}}, colour});
}

Scene Sheet::finish(const Words& words) {
  const Typeface heading{kTitleSize, true};
  const std::vector<std::string> lines =
      typesetter_.lines(visible(words.title), heading, std::max(extent_.right() - words.title_at, kLeastTextWidth));
  double y = extent_.y - 6 - kTitleSize * 0.7;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line, y -= 1.3 * kTitleSize)
    add(Writing{.at = {words.title_at, y}, .text = *line, .size = kTitleSize, .bold = true});
  const double left = extent_.x;
  y = extent_.bottom() + 6 + kSmallSize * 0.7;
  for (std::string& line :
       typesetter_.lines(visible(words.caption), {kSmallSize}, std::max(extent_.width, kLeastTextWidth))) {
    add(Writing{.at = {left, y}, .text = std::move(line), .size = kSmallSize, .colour = kQuietInk});
    y += 1.4 * kSmallSize;
  }
  // Shifts by whole pixels, so that everything stays aligned to them.
  const auto up = [&](double length) { return std::ceil(length / dot_ - 1e-6) * dot_; };
  const MovedMark moved{up(kMargin - extent_.x), up(kMargin - extent_.y)};
  for (Mark& mark : marks_) std::visit(moved, mark);
  Scene scene{
      up(extent_.right() + moved.x + kMargin), up(extent_.bottom() + moved.y + kMargin), visible(words.title), {}};
  scene.marks = std::move(marks_);
  return scene;
}

}  // namespace attn::figure
