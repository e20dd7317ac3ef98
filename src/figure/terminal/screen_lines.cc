// Draws head views, bars and curves in the terminal.
#include <algorithm>
#include <cmath>

#include "figure/layout/axes.h"
#include "figure/scene/label.h"
#include "figure/scene/ticks.h"
#include "figure/terminal/screen.h"

namespace attn::figure::screen {

namespace {

// ---- head view: lines between words would be illegible, so the largest weights are listed ----

constexpr std::size_t kListed = 3;  // weights per query
constexpr std::size_t kMostQueries = 100;
constexpr int kLongestListedLabel = 20;

struct Line {
  std::size_t head = 0, key = 0;
  float weight = 0;
};

// The listed weights of one query, largest first.
std::vector<Line> strongest(const HeadView& figure, std::size_t query) {
  std::vector<Line> all;
  for (std::size_t h = 0; h < figure.heads.size(); ++h) {
    const float* const weights = figure.heads[h].weights.row(static_cast<std::int64_t>(query));
    for (std::size_t k = 0; k < figure.keys.size(); ++k) {
      if (weights[k] >= figure.threshold) all.push_back({h, k, weights[k]});
    }
  }
  const std::size_t kept = std::min(all.size(), kListed);
  std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(kept), std::ranges::greater{},
                            &Line::weight);
  all.resize(kept);
  return all;
}

std::string percent(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

// Shortens "head 9" to "h9" and "layer 2, head 9" to "2.9" if there is no room for the name.
std::string name_in(const std::string& name, int width) {
  if (columns_of(name) <= width) return fitted(name, width);
  std::string numbers;
  bool inside = false;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (digit) numbers += (inside || numbers.empty() ? "" : ".") + std::string(1, c);
    inside = digit;
  }
  if (numbers.empty()) return fitted(name, width);
  return fitted((numbers.find('.') == std::string::npos ? "h" : "") + numbers, width);
}

// Turns "Query" into "query".
std::string inside_a_sentence(std::string name) {
  if (!name.empty() && name[0] >= 'A' && name[0] <= 'Z') name[0] = static_cast<char>(name[0] - 'A' + 'a');
  return figure::visible(name);
}

// The last on its line, so not padded with spaces.
std::string last_bar(double share, int width) {
  std::string bar = " " + bar_of(share, width);
  bar.erase(bar.find_last_not_of(' ') + 1);
  return bar;
}

struct Columns {
  int query = 0, key = 0, number = 0, name = 0, bar = 0;
};

Columns head_view_columns(const HeadView& figure, int width) {
  constexpr int kSpaces = 5, kShortest = 2;
  Columns columns;
  for (const HeadView::Head& head : figure.heads) {
    if (figure.heads.size() > 1)
      columns.name = std::min(width / 5, std::max(columns.name, columns_of(figure::visible(head.name)) + 1));
    columns.number = std::max(columns.number, columns_of(cell_text(numbers_in(head.weights).to)));
  }
  const int room = width - columns.number - columns.name - kSpaces - kShortest;
  columns.query = std::min({longest(visible(figure.queries)), kLongestListedLabel, room / 2});
  columns.key = std::min({longest(visible(figure.keys)), kLongestListedLabel, room - columns.query});
  columns.bar = std::min(40, room + kShortest - columns.query - columns.key);
  return columns;
}

// ---- curves ----

constexpr int kHeight = 16;

struct ScreenAxis {
  bool log = false;
  Range range;

  [[nodiscard]] double place(double value) const {
    if (!log) return (value - range.from) / (range.to - range.from);
    return std::log(value / range.from) / std::log(range.to / range.from);
  }
  [[nodiscard]] std::vector<double> ticks(int most) const {
    return log ? log_ticks(range, most) : linear_ticks(range, most);
  }
};

ScreenAxis screen_axis(const std::vector<Curves::Curve>& curves, std::vector<double> Curves::Curve::* numbers,
                       bool log) {
  ScreenAxis axis{log, {INFINITY, -INFINITY}};
  for (const Curves::Curve& curve : curves) {
    for (const double value : curve.*numbers) {
      axis.range = {std::min(axis.range.from, value), std::max(axis.range.to, value)};
    }
  }
  if (axis.range.from == axis.range.to)
    axis.range =
        log ? Range{axis.range.from / 2, axis.range.to * 2} : Range{axis.range.from - 0.5, axis.range.to + 0.5};
  return axis;
}

// The letters of curves, which also have colours.
constexpr std::array<std::string_view, 8> kMarks = {"•", "x", "+", "o", "*", "#", "%", "@"};

// Which curve is visible at each place: the last one drawn.
class CurveCanvas {
 public:
  explicit CurveCanvas(int width) : width_(width), curve_(static_cast<std::size_t>(width) * kHeight, -1) {}

  void line(int curve, double x0, double y0, double x1, double y1) {
    const double steps = std::max({1.0, std::abs(x1 - x0) * width_, std::abs(y1 - y0) * kHeight});
    for (double step = 0; step <= steps; ++step) {
      const double t = step / steps;
      const auto column = static_cast<int>(std::lround(std::lerp(x0, x1, t) * (width_ - 1)));
      const auto row = static_cast<int>(std::lround((1 - std::lerp(y0, y1, t)) * (kHeight - 1)));
      curve_[index(row, column)] = curve;
    }
  }

  [[nodiscard]] std::string row(int row, const Brush& brush) const {
    std::string line;
    for (int column = 0; column < width_; ++column) {
      const int curve = curve_[index(row, column)];
      if (curve < 0) {
        line += " ";
      } else {
        line += brush.in(kMarks[static_cast<std::size_t>(curve) % kMarks.size()], head_style(curve).colour);
      }
    }
    return line;
  }

 private:
  [[nodiscard]] std::size_t index(int row, int column) const noexcept {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(column);
  }

  int width_;
  std::vector<int> curve_;
};

CurveCanvas canvas_of(const Curves& figure, const ScreenAxis& x, const ScreenAxis& y, int width) {
  CurveCanvas canvas(width);
  for (std::size_t c = 0; c < figure.curves.size(); ++c) {
    const Curves::Curve& curve = figure.curves[c];
    for (std::size_t n = 0; n < curve.x.size(); ++n) {
      const std::size_t before = n == 0 ? 0 : n - 1;
      canvas.line(static_cast<int>(c), x.place(curve.x[before]), y.place(curve.y[before]), x.place(curve.x[n]),
                  y.place(curve.y[n]));
    }
  }
  return canvas;
}

// Numbers below the axis, each at its place, if the previous one leaves room.
std::string numbers_below(const ScreenAxis& axis, int width) {
  const std::vector<double> ticks = axis.ticks(std::max(2, width / 12));
  const Lines texts = tick_texts(ticks);
  std::string line;
  int used = 0;
  for (std::size_t n = 0; n < ticks.size(); ++n) {
    const int size = columns_of(texts[n]);
    const int at =
        std::clamp(static_cast<int>(std::lround(axis.place(ticks[n]) * (width - 1))) - size / 2, 0, width - size);
    if (at < used + (n == 0 ? 0 : 1)) continue;
    line += repeat(" ", at - used) + texts[n];
    used = at + size;
  }
  return line;
}

void add_names(Lines& lines, const std::vector<std::string>& names, std::string_view mark, const Screen& screen) {
  const Brush brush(screen.colours);
  std::string line;
  int used = 0;
  for (std::size_t n = 0; n < names.size(); ++n) {
    const std::string_view own = mark.empty() ? kMarks[n % kMarks.size()] : mark;
    const std::string name = fitted(names[n], std::min(columns_of(names[n]), screen.width - 2));
    const int size = columns_of(name) + 2;
    if (used > 0 && used + 2 + size > screen.width) {
      lines.push_back(std::move(line));
      line.clear();
      used = 0;
    }
    line += (used == 0 ? "" : "  ") + brush.in(own, head_style(static_cast<std::int64_t>(n)).colour) + " " + name;
    used += size + (used == 0 ? 0 : 2);
  }
  if (!line.empty()) lines.push_back(std::move(line));
}

}  // namespace

Lines lines_of(const HeadView& figure, const Screen& screen) {
  Lines lines;
  const Brush brush(screen.colours);
  const Columns columns = head_view_columns(figure, screen.width);
  add_title(lines, figure.title, screen);
  double listed = 0, all = 0;
  for (const HeadView::Head& head : figure.heads) {
    const float* const weights = head.weights.data();
    for (std::int64_t i = 0; i < head.weights.rows() * head.weights.columns(); ++i) all += weights[i];
  }
  const std::size_t queries = std::min(figure.queries.size(), kMostQueries);
  for (std::size_t q = 0; q < queries; ++q) {
    std::string label = fitted(figure::visible(figure.queries[q]), columns.query, true);
    for (const Line& line : strongest(figure, q)) {
      const HeadStyle style = head_style(static_cast<std::int64_t>(line.head));
      const std::string bar = brush.in(last_bar(line.weight, columns.bar), style.colour);
      std::string name;
      if (columns.name > 0)
        name = " " + brush.dim(name_in(figure::visible(figure.heads[line.head].name), columns.name - 1));
      lines.push_back(brush.bold(label) + " → " + fitted(figure::visible(figure.keys[line.key]), columns.key) + " " +
                      fitted(cell_text(line.weight), columns.number, true) + name + bar);
      label = repeat(" ", columns.query);
      listed += line.weight;
    }
  }
  std::string caption = "The " + std::to_string(kListed) + " largest weights of each " +
                        inside_a_sentence(figure.query_label) + ", " + percent(all > 0 ? listed / all : 0) + " of all.";
  if (queries < figure.queries.size())
    caption += " " + std::to_string(figure.queries.size() - queries) + " more queries are not shown.";
  add_caption(lines, joined({figure.caption, caption}), screen);
  return lines;
}

Lines lines_of(const Bars& figure, const Screen& screen) {
  Lines lines;
  const Brush brush(screen.colours);
  add_title(lines, figure.title, screen);
  int label = 0, number = 0;
  double most = 0;
  for (const Bars::Bar& bar : figure.bars) {
    label = std::max(label, columns_of(figure::visible(bar.label)));
    number = std::max(number, columns_of(short_text(bar.value)));
    most = std::max(most, std::abs(bar.value));
  }
  label = std::min(label, screen.width / 3);
  const int width = std::clamp(screen.width - label - number - 2, 1, 60);
  for (const Bars::Bar& bar : figure.bars) {
    const Colour& ink = bar.value < 0 ? colour_map("RdBu")[40] : colour_map("viridis")[158];
    lines.push_back(fitted(figure::visible(bar.label), label, true) + " " +
                    fitted(short_text(bar.value), number, true) +
                    brush.in(last_bar(most > 0 ? std::abs(bar.value) / most : 0, width), ink));
  }
  add_caption(lines, joined({figure.x_label, figure.caption}), screen);
  return lines;
}

Lines lines_of(const Curves& figure, const Screen& screen) {
  Lines lines;
  const Brush brush(screen.colours);
  const ScreenAxis x = screen_axis(figure.curves, &Curves::Curve::x, figure.log_x);
  const ScreenAxis y = screen_axis(figure.curves, &Curves::Curve::y, figure.log_y);
  const std::vector<double> ticks = y.ticks(kHeight / 3);
  const Lines texts = tick_texts(ticks);
  const int gutter = std::min(longest(texts), screen.width / 3) + 2;
  const int width = std::max(1, screen.width - gutter);
  const CurveCanvas canvas = canvas_of(figure, x, y, width);
  add_title(lines, figure.title, screen);
  add_caption(lines, figure.y_label.empty() ? "" : "↑ " + figure.y_label, screen);
  for (int row = 0; row < kHeight; ++row) {
    std::string label;
    for (std::size_t n = 0; n < ticks.size(); ++n) {
      if (std::lround((1 - y.place(ticks[n])) * (kHeight - 1)) == row) label = texts[n];
    }
    lines.push_back(fitted(label, gutter - 2, true) + (label.empty() ? " │" : " ┤") + canvas.row(row, brush));
  }
  lines.push_back(repeat(" ", gutter - 1) + "└" + repeat("─", width));
  lines.push_back(repeat(" ", gutter) + numbers_below(x, width));
  add_caption(lines, figure.x_label.empty() ? "" : "→ " + figure.x_label, screen);
  std::vector<std::string> names;
  for (const Curves::Curve& curve : figure.curves) names.push_back(figure::visible(curve.name));
  if (names.size() > 1 || (names.size() == 1 && !names[0].empty())) add_names(lines, names, "", screen);
  add_caption(lines, figure.caption, screen);
  return lines;
}

}  // namespace attn::figure::screen
