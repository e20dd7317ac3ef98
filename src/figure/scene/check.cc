#include "figure/scene/check.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "figure/colour/shade.h"

namespace attn::figure {

namespace {

void need_labels(const std::vector<std::string>& labels, std::int64_t cells, const std::string& of) {
  if (labels.empty() || std::ssize(labels) == cells) return;
  throw std::invalid_argument(std::to_string(labels.size()) + " labels for " + std::to_string(cells) + " " + of +
                              "; there must be as many, or none");
}

void need_cells(bool there_are, const std::string& figure) {
  if (!there_are) throw std::invalid_argument("the " + figure + " has nothing to draw");
}

void need_finite(double value, const std::string& of) {
  if (!std::isfinite(value)) throw std::invalid_argument("a number of " + of + " is not finite");
}

// Throws unless one Shader fits all tables.
template <typename Tables>
void need_shades(const Shade& shade, const Tables& tables) {
  Range numbers = numbers_in(*tables.front());
  for (const nn::Matrix* table : tables) numbers = united(numbers, numbers_in(*table));
  static_cast<void>(Shader(shade, numbers));
}

void check_one(const Heatmap& map) {
  need_cells(!map.cells.empty(), "heatmap");
  need_labels(map.rows, map.cells.rows(), "rows");
  need_labels(map.columns, map.cells.columns(), "columns");
  need_shades(map.shade, std::vector{&map.cells});
}

void check_one(const Grid& grid) {
  need_cells(!grid.panels.empty(), "grid");
  if (grid.columns < 0) throw std::invalid_argument("a grid of " + std::to_string(grid.columns) + " columns");
  std::vector<const nn::Matrix*> tables;
  for (const Heatmap& panel : grid.panels) {
    need_cells(!panel.cells.empty(), "grid's panel '" + panel.title + "'");
    need_labels(panel.rows, panel.cells.rows(), "rows");
    need_labels(panel.columns, panel.cells.columns(), "columns");
    tables.push_back(&panel.cells);
  }
  need_shades(grid.shade, tables);
}

void check_one(const Overview& overview) {
  need_cells(overview.layers > 0 && overview.heads > 0, "overview");
  if (overview.layers * overview.heads != std::ssize(overview.cells))
    throw std::invalid_argument("an overview of " + std::to_string(overview.layers) + " layers x " +
                                std::to_string(overview.heads) + " heads with " +
                                std::to_string(overview.cells.size()) + " tables; there must be one per head");
  std::vector<const nn::Matrix*> tables;
  for (const nn::Matrix& cells : overview.cells) {
    need_cells(!cells.empty(), "overview's thumbnail");
    tables.push_back(&cells);
  }
  need_shades(overview.shade, tables);
}

void check_one(const HeadView& view) {
  need_cells(!view.queries.empty() && !view.keys.empty() && !view.heads.empty(), "head view");
  need_finite(view.threshold, "the threshold");
  for (const HeadView::Head& head : view.heads) {
    if (head.weights.rows() != std::ssize(view.queries) || head.weights.columns() != std::ssize(view.keys))
      throw std::invalid_argument("head '" + head.name + "' has " + std::to_string(head.weights.rows()) + " x " +
                                  std::to_string(head.weights.columns()) + " weights for " +
                                  std::to_string(view.queries.size()) + " queries and " +
                                  std::to_string(view.keys.size()) + " keys");
    numbers_in(head.weights);
  }
}

void check_one(const MaskPicture& mask) {
  need_cells(mask.rows > 0 && mask.columns > 0, "mask");
  if (mask.rows * mask.columns != std::ssize(mask.seen))
    throw std::invalid_argument("a mask of " + std::to_string(mask.rows) + " x " + std::to_string(mask.columns) +
                                " with " + std::to_string(mask.seen.size()) + " places");
  need_labels(mask.row_labels, mask.rows, "rows");
  need_labels(mask.column_labels, mask.columns, "columns");
}

void check_one(const Bars& bars) {
  need_cells(!bars.bars.empty(), "bar chart");
  for (const Bars::Bar& bar : bars.bars) need_finite(bar.value, "bar '" + bar.label + "'");
}

void check_one(const Curves& curves) {
  need_cells(!curves.curves.empty(), "chart");
  for (const Curves::Curve& curve : curves.curves) {
    need_cells(!curve.x.empty(), "curve '" + curve.name + "'");
    if (curve.x.size() != curve.y.size())
      throw std::invalid_argument("curve '" + curve.name + "' has " + std::to_string(curve.x.size()) +
                                  " x values for " + std::to_string(curve.y.size()) + " y values");
    const auto need_axis = [&](const std::vector<double>& values, bool log) {
      for (const double value : values) {
        need_finite(value, "curve '" + curve.name + "'");
        if (log && value <= 0)
          throw std::invalid_argument("curve '" + curve.name + "' reaches " + short_text(value) +
                                      ", which a log axis cannot show");
      }
    };
    need_axis(curve.x, curves.log_x);
    need_axis(curve.y, curves.log_y);
  }
}

}  // namespace

void check(const Figure& figure) {
  std::visit([](const auto& one) { check_one(one); }, figure);
}

std::int64_t columns_of(const Grid& grid) {
  const std::int64_t panels = std::ssize(grid.panels);
  if (grid.columns > 0) return std::min(grid.columns, panels);
  const double side = std::sqrt(static_cast<double>(panels));
  const auto least = static_cast<std::int64_t>(std::ceil(side));
  for (std::int64_t columns = least; static_cast<double>(columns) <= 1.75 * side; ++columns)
    if (panels % columns == 0) return columns;
  const auto empty = [&](std::int64_t columns) { return (columns - panels % columns) % columns; };
  return empty(least + 1) < empty(least) ? least + 1 : least;
}

}  // namespace attn::figure
