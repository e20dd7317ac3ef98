#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "figure/layout/axes.h"
#include "figure/layout/layout.h"
#include "figure/scene/label.h"

namespace attn::figure {

namespace {

constexpr double kChartTick = 3;

// One axis of a chart: maps numbers to places from 0 to 1.
struct ChartAxis {
  Range range;
  bool log = false;

  [[nodiscard]] double place(double value) const {
    if (log) return std::log(value / range.from) / std::log(range.to / range.from);
    return (value - range.from) / (range.to - range.from);
  }
  [[nodiscard]] std::vector<Tick> ticks(int most) const {
    const std::vector<double> values = log ? log_ticks(range, most) : linear_ticks(range, most);
    const std::vector<std::string> texts = tick_texts(values);
    std::vector<Tick> ticks;
    for (std::size_t i = 0; i < values.size(); ++i) ticks.push_back({values[i], place(values[i]), texts[i]});
    return ticks;
  }
};

enum class Start : std::uint8_t { anywhere, at_zero_if_near };

// Widens a range by a little room at both ends.
ChartAxis chart_axis(const Curves& curves, std::vector<double> Curves::Curve::* values, bool log, Start start) {
  const double padding = start == Start::anywhere ? 0.02 : 0.05;
  Range range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const Curves::Curve& curve : curves.curves)
    for (const double value : curve.*values) range = united(range, {value, value});
  if (log) {
    const double factor = range.from == range.to ? 2 : std::pow(range.to / range.from, padding);
    return {{range.from / factor, range.to * factor}, true};
  }
  const double span = range.to - range.from;
  const double more = span > 0 ? span * padding : std::max(std::abs(range.to) / 2, 0.5);
  const bool from_zero = start == Start::at_zero_if_near && range.from >= 0 && range.from < 0.5 * range.to;
  return {{from_zero ? 0 : range.from - more, range.to + more}, false};
}

class Chart {
 public:
  Chart(Sheet& sheet, const Curves& curves)
      : sheet_(sheet),
        curves_(curves),
        x_(chart_axis(curves, &Curves::Curve::x, curves.log_x, Start::anywhere)),
        y_(chart_axis(curves, &Curves::Curve::y, curves.log_y, Start::at_zero_if_near)) {}

  void put_axes() {
    constexpr int kMostX = 7, kMostY = 6;
    for (Tick& tick : y_.ticks(kMostY)) {
      const double y = kHeight * (1 - tick.place);
      if (tick.place > 0) sheet_.line({0, y}, {kWidth, y}, kFaintInk);
      sheet_.line({-kChartTick, y}, {0, y});
      sheet_.add(Writing{.at = {-kChartTick - 3, y}, .text = std::move(tick.text), .size = 8, .anchor = Anchor::end});
    }
    for (Tick& tick : x_.ticks(kMostX)) {
      const double x = kWidth * tick.place;
      sheet_.line({x, kHeight}, {x, kHeight + kChartTick});
      sheet_.add(Writing{
          .at = {x, kHeight + kChartTick + 7}, .text = std::move(tick.text), .size = 8, .anchor = Anchor::middle});
    }
    sheet_.line({0, 0}, {0, kHeight});
    sheet_.line({0, kHeight}, {kWidth, kHeight});
    const Box labelled = sheet_.extent();
    put_y_name(sheet_, labelled.x, kHeight / 2, curves_.y_label);
    put_x_name(sheet_, kWidth / 2, labelled.bottom(), curves_.x_label);
  }

  void put_curves() {
    for (std::int64_t c = 0; c < std::ssize(curves_.curves); ++c) {
      const Curves::Curve& curve = curves_.curves[static_cast<std::size_t>(c)];
      const HeadStyle style = head_style(c);
      Stroke stroke{.points = {}, .colour = style.colour, .width = 1.4, .dash = style.dash};
      for (std::size_t i = 0; i < curve.x.size(); ++i)
        stroke.points.push_back({kWidth * x_.place(curve.x[i]), kHeight * (1 - y_.place(curve.y[i]))});
      if (std::ssize(curve.x) <= kMostDots)
        for (const Point& point : stroke.points) put_dot(point, style.colour);
      if (stroke.points.size() > 1) sheet_.add(std::move(stroke));
    }
  }

  void put_legend() {
    constexpr double kLine = 16, kRow = 14;
    if (curves_.curves.size() == 1) return;
    double y = 6;
    for (std::int64_t c = 0; c < std::ssize(curves_.curves); ++c, y += kRow) {
      const HeadStyle style = head_style(c);
      const double x = kWidth + 14;
      sheet_.add(Stroke{.points = {{x, y}, {x + kLine, y}}, .colour = style.colour, .width = 1.6, .dash = style.dash});
      sheet_.add(Writing{.at = {x + kLine + 5, y},
                         .text = sheet_.typesetter().fitted(visible(curves_.curves[static_cast<std::size_t>(c)].name),
                                                            {8}, kLongestName),
                         .size = 8});
    }
  }

 private:
  static constexpr double kWidth = 330, kHeight = 210, kLongestName = 140;
  static constexpr std::int64_t kMostDots = 40;

  void put_dot(Point at, const Colour& colour) {
    constexpr int kCorners = 16;
    constexpr double kRadius = 2;
    Area dot{{}, colour};
    for (int i = 0; i < kCorners; ++i) {
      const double angle = 2 * std::numbers::pi * i / kCorners;
      dot.outline.push_back({at.x + kRadius * std::cos(angle), at.y + kRadius * std::sin(angle)});
    }
    sheet_.add(std::move(dot));
  }

  Sheet& sheet_;
  const Curves& curves_;
  ChartAxis x_, y_;
};

}  // namespace

Scene lay_out_curves(const Curves& curves) {
  Sheet sheet;
  Chart chart(sheet, curves);
  chart.put_axes();
  chart.put_curves();
  chart.put_legend();
  return sheet.finish({curves.title, curves.caption});
}

Scene lay_out_bars(const Bars& bars) {
  constexpr Colour kBar = {0x2f, 0x6d, 0xa8};
  constexpr double kPitch = 14, kThick = 9, kWidth = 240, kLongestLabel = 160;
  Sheet sheet;
  Range range{0, 0};
  for (const Bars::Bar& bar : bars.bars) range = united(range, {bar.value, bar.value});
  const double scale = kWidth / (range.to > range.from ? range.to - range.from : 1);
  const double zero = -range.from * scale;
  const bool both = range.from < 0;
  double y = 0;
  for (const Bars::Bar& bar : bars.bars) {
    const double length = bar.value * scale, middle = y + kPitch / 2;
    sheet.box({zero + std::min(length, 0.0), y + (kPitch - kThick) / 2, std::abs(length), kThick}, kBar);
    const bool leftwards = bar.value < 0;
    sheet.add(Writing{.at = {zero + length + (leftwards ? -4 : 4), middle},
                      .text = short_text(bar.value),
                      .size = 8,
                      .anchor = leftwards ? Anchor::end : Anchor::start,
                      .colour = kQuietInk});
    y += kPitch;
  }
  const double left = sheet.extent().x - (both ? 8 : 5);
  y = kPitch / 2;
  for (const Bars::Bar& bar : bars.bars) {
    sheet.add(Writing{.at = {left, y},
                      .text = sheet.typesetter().fitted(visible(bar.label), {kTextSize}, kLongestLabel),
                      .anchor = Anchor::end});
    y += kPitch;
  }
  const double bottom = kPitch * static_cast<double>(bars.bars.size());
  sheet.line({zero, -1}, {zero, bottom + 1});
  put_x_name(sheet, kWidth / 2, bottom, bars.x_label);
  return sheet.finish({bars.title, bars.caption, sheet.extent().x});
}

}  // namespace attn::figure
