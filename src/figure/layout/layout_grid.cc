#include <algorithm>
#include <cmath>

#include "figure/layout/axes.h"
#include "figure/layout/layout.h"
#include "figure/scene/check.h"
#include "figure/scene/label.h"

namespace attn::figure {

namespace {

Range range_of(const auto& tables) {
  Range all = numbers_in(*tables.front());
  for (const nn::Matrix* table : tables) all = united(all, numbers_in(*table));
  return all;
}

// The panels of a grid, all as large as the largest table needs, so that they align.
class GridPlan {
 public:
  GridPlan(const Sheet& sheet, const Grid& grid) : columns_(figure::columns_of(grid)) {
    count_ = std::ssize(grid.panels);
    std::int64_t most = 0;
    for (const Heatmap& panel : grid.panels) most = std::max({most, panel.cells.rows(), panel.cells.columns()});
    // Labels are legible for up to 24 cells.
    const double side = most <= 24 ? std::clamp(10.5 * static_cast<double>(most), 104.0, 216.0) : 160;
    cell_ = sheet.dots(side / static_cast<double>(most));
    for (const Heatmap& panel : grid.panels) {
      width_ = std::max(width_, cell_ * static_cast<double>(panel.cells.columns()));
      height_ = std::max(height_, cell_ * static_cast<double>(panel.cells.rows()));
    }
    const bool titled = std::ranges::any_of(grid.panels, [](const Heatmap& panel) { return !panel.title.empty(); });
    gap_x_ = sheet.dots(10);
    gap_y_ = sheet.dots(titled ? 22 : 10);
  }

  [[nodiscard]] Panel panel(std::int64_t number, const nn::Matrix& cells) const {
    const std::int64_t row = number / columns_, column = number % columns_;
    const Box box{static_cast<double>(column) * (width_ + gap_x_), static_cast<double>(row) * (height_ + gap_y_),
                  cell_ * static_cast<double>(cells.columns()), cell_ * static_cast<double>(cells.rows())};
    return {box, cells.rows(), cells.columns()};
  }
  [[nodiscard]] Box whole() const {
    const std::int64_t rows = (count_ + columns_ - 1) / columns_;
    return {0, 0, static_cast<double>(columns_) * (width_ + gap_x_) - gap_x_,
            static_cast<double>(rows) * (height_ + gap_y_) - gap_y_};
  }
  [[nodiscard]] bool leftmost(std::int64_t number) const { return number % columns_ == 0; }
  [[nodiscard]] bool nothing_below(std::int64_t number) const { return number + columns_ >= count_; }
  [[nodiscard]] bool in_last_row(std::int64_t number) const { return number / columns_ == (count_ - 1) / columns_; }
  [[nodiscard]] double gap() const { return gap_x_; }

 private:
  std::int64_t columns_, count_;
  double cell_ = 0, width_ = 0, height_ = 0, gap_x_ = 0, gap_y_ = 0;
};

}  // namespace

Scene lay_out_grid(const Grid& grid, double dpi) {
  Sheet sheet(dpi);
  std::vector<const nn::Matrix*> tables;
  for (const Heatmap& panel : grid.panels) tables.push_back(&panel.cells);
  const Shader shader(grid.shade, range_of(tables));
  const GridPlan plan(sheet, grid);
  std::string thinning;
  double labels_left = 0, labels_bottom = plan.whole().bottom();
  for (std::int64_t p = 0; p < std::ssize(grid.panels); ++p) {
    const Heatmap& map = grid.panels[static_cast<std::size_t>(p)];
    const Panel panel = plan.panel(p, map.cells);
    sheet.add(tiles_of(map.cells, shader, panel.box));
    sheet.frame(panel.box);
    if (!map.title.empty()) {
      sheet.add(Writing{.at = {panel.box.x, panel.box.y - 8},
                        .text = sheet.typesetter().fitted(visible(map.title), {kTextSize}, panel.box.width)});
    }
    if (!plan.leftmost(p) && !plan.nothing_below(p)) continue;
    const auto [rows, columns] = fit_labels(sheet, panel, map.rows, map.columns);
    if (thinning.empty()) thinning = thinning_note({rows, columns});
    if (plan.leftmost(p)) {
      put_row_labels(sheet, panel, rows);
      labels_left = std::min(labels_left, sheet.extent().x);
    }
    if (!plan.nothing_below(p)) continue;
    // Above an empty place, labels must not run into the panel to its left.
    if (!plan.in_last_row(p) && overhang_of(panel, columns) > plan.gap()) continue;
    put_column_labels(sheet, panel, columns);
    if (plan.in_last_row(p)) labels_bottom = std::max(labels_bottom, panel.box.bottom() + depth_of(columns));
  }
  const Box whole = plan.whole();
  put_y_name(sheet, labels_left, whole.height / 2, grid.y_label);
  put_x_name(sheet, whole.width / 2, labels_bottom, grid.x_label);
  put_bar(sheet, shader, grid.shade.scale, whole, grid.bar_label);
  return sheet.finish({grid.title, joined({grid.caption, thinning})});
}

Scene lay_out_overview(const Overview& overview, double dpi) {
  constexpr double kSide = 38, kGap = 3.5;
  Sheet sheet(dpi);
  std::vector<const nn::Matrix*> tables;
  std::int64_t most = 0;
  for (const nn::Matrix& cells : overview.cells) {
    tables.push_back(&cells);
    most = std::max({most, cells.rows(), cells.columns()});
  }
  const Shader shader(overview.shade, range_of(tables));
  const double cell = sheet.dots(kSide / static_cast<double>(most));
  double width = 0, height = 0;
  for (const nn::Matrix& cells : overview.cells) {
    width = std::max(width, cell * static_cast<double>(cells.columns()));
    height = std::max(height, cell * static_cast<double>(cells.rows()));
  }
  const double right = width + sheet.dots(kGap), down = height + sheet.dots(kGap);
  for (std::int64_t layer = 0; layer < overview.layers; ++layer) {
    for (std::int64_t head = 0; head < overview.heads; ++head) {
      const nn::Matrix& cells = overview.cells[static_cast<std::size_t>(layer * overview.heads + head)];
      const Box box{static_cast<double>(head) * right, static_cast<double>(layer) * down,
                    cell * static_cast<double>(cells.columns()), cell * static_cast<double>(cells.rows())};
      sheet.add(tiles_of(cells, shader, box));
      sheet.frame(box, kFaintInk);
    }
    sheet.add(Writing{.at = {-5, static_cast<double>(layer) * down + height / 2},
                      .text = std::to_string(layer),
                      .anchor = Anchor::end});
  }
  for (std::int64_t head = 0; head < overview.heads; ++head) {
    sheet.add(Writing{.at = {static_cast<double>(head) * right + width / 2, -8},
                      .text = std::to_string(head),
                      .anchor = Anchor::middle});
  }
  const Box whole{0, 0, static_cast<double>(overview.heads) * right - sheet.dots(kGap),
                  static_cast<double>(overview.layers) * down - sheet.dots(kGap)};
  put_y_name(sheet, sheet.extent().x, whole.height / 2, "Layer");
  put_x_name(sheet, whole.width / 2, -29, "Head");
  put_bar(sheet, shader, overview.shade.scale, whole, overview.bar_label);
  return sheet.finish({overview.title, overview.caption});
}

}  // namespace attn::figure
