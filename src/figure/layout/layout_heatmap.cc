#include <algorithm>
#include <cmath>

#include "figure/layout/axes.h"
#include "figure/layout/layout.h"

namespace attn::figure {

namespace {

constexpr double kApart = 13;  // points per cell from which on white lines separate the cells

// Cells are squares, unless a table that is much longer than wide would become a strip.
Panel panel_of(const Sheet& sheet, std::int64_t rows, std::int64_t columns, double least) {
  double height = std::max(cell_size(sheet, rows), least), width = std::max(cell_size(sheet, columns), least);
  constexpr double kMostUnequal = 4;
  if (std::max(height, width) <= kMostUnequal * std::min(height, width)) height = width = std::min(height, width);
  return {{0, 0, width * static_cast<double>(columns), height * static_cast<double>(rows)}, rows, columns};
}

void part_cells(Sheet& sheet, const Panel& panel) {
  constexpr double kFaint = 0.35;
  if (std::min(panel.row_pitch(), panel.column_pitch()) < kApart) return;
  for (std::int64_t i = 1; i < panel.rows; ++i) {
    const double y = panel.box.y + static_cast<double>(i) * panel.row_pitch();
    sheet.line({panel.box.x, y}, {panel.box.right(), y}, kWhite, kFaint);
  }
  for (std::int64_t j = 1; j < panel.columns; ++j) {
    const double x = panel.box.x + static_cast<double>(j) * panel.column_pitch();
    sheet.line({x, panel.box.y}, {x, panel.box.bottom()}, kWhite, kFaint);
  }
}

// Returns notes for the caption.
std::string put_labels(Sheet& sheet, const Panel& panel, const std::vector<std::string>& row_labels,
                       const std::vector<std::string>& column_labels) {
  const PanelLabels labels = fit_labels(sheet, panel, row_labels, column_labels);
  put_row_labels(sheet, panel, labels.rows);
  put_column_labels(sheet, panel, labels.columns);
  return thinning_note(labels);
}

void put_names(Sheet& sheet, const Panel& panel, const std::string& x_name, const std::string& y_name) {
  const Box labelled = sheet.extent();
  put_y_name(sheet, labelled.x, panel.box.y + panel.box.height / 2, y_name);
  put_x_name(sheet, panel.box.x + panel.box.width / 2, labelled.bottom(), x_name);
}

// The numbers of a table as text, and the type size at which they fit into the cells.
struct CellValues {
  std::vector<std::string> texts;
  double size = 0;        // 0: the numbers do not fit
  double least_cell = 0;  // the cell size at which they would fit
};

CellValues values_of(const Sheet& sheet, const nn::Matrix& cells) {
  constexpr std::int64_t kMost = 44;  // cells per row
  constexpr double kSize = 7.5, kSmallest = 6, kMany = 24;
  CellValues values;
  if (std::max(cells.rows(), cells.columns()) > kMost) return values;
  values.size = static_cast<double>(cells.columns()) > kMany ? kSmallest : kSize;
  double widest = 0;
  for (std::int64_t i = 0; i < cells.rows() * cells.columns(); ++i) {
    values.texts.push_back(cell_text(cells.data()[i]));
    widest = std::max(widest, sheet.typesetter().width(values.texts.back(), {values.size}));
  }
  values.least_cell = widest + 4;
  return values;
}

void put_values(Sheet& sheet, const Panel& panel, const Heatmap& map, const Shader& shader, CellValues values) {
  for (std::int64_t i = 0; i < panel.rows; ++i) {
    for (std::int64_t j = 0; j < panel.columns; ++j) {
      const double x = panel.box.x + (static_cast<double>(j) + 0.5) * panel.column_pitch();
      const double y = panel.box.y + (static_cast<double>(i) + 0.5) * panel.row_pitch();
      sheet.add(Writing{.at = {x, y},
                        .text = std::move(values.texts[static_cast<std::size_t>(i * panel.columns + j)]),
                        .size = values.size,
                        .anchor = Anchor::middle,
                        .colour = ink_on(shader.colour(map.cells.row(i)[j]))});
    }
  }
}

}  // namespace

Scene lay_out_heatmap(const Heatmap& map, double dpi) {
  Sheet sheet(dpi);
  const Shader shader(map.shade, numbers_in(map.cells));
  CellValues values = map.values ? values_of(sheet, map.cells) : CellValues{};
  const Panel panel = panel_of(sheet, map.cells.rows(), map.cells.columns(), sheet.dots(values.least_cell));
  sheet.add(tiles_of(map.cells, shader, panel.box));
  part_cells(sheet, panel);
  sheet.frame(panel.box);
  const bool fit = values.size > 0;
  if (fit) put_values(sheet, panel, map, shader, std::move(values));
  const std::string thinning = put_labels(sheet, panel, map.rows, map.columns);
  put_names(sheet, panel, map.x_label, map.y_label);
  if (map.bar) put_bar(sheet, shader, map.shade.scale, panel.box, map.bar_label);
  const std::string_view without = map.values && !fit ? "The cells are too small for numbers." : "";
  return sheet.finish({map.title, joined({map.caption, thinning, without})});
}

Scene lay_out_mask(const MaskPicture& mask, double dpi) {
  constexpr Colour kSeen = {0x2f, 0x6d, 0xa8}, kMasked = {0xec, 0xee, 0xf0};
  Sheet sheet(dpi);
  const Panel panel = panel_of(sheet, mask.rows, mask.columns, 0);
  sheet.add(Tiles{panel.box, mask.rows, mask.columns, {mask.seen.begin(), mask.seen.end()}, {kMasked, kSeen}});
  part_cells(sheet, panel);
  sheet.frame(panel.box);
  const std::string thinning = put_labels(sheet, panel, mask.row_labels, mask.column_labels);
  put_names(sheet, panel, mask.x_label, mask.y_label);
  double y = sheet.dots(5);
  for (const auto& [colour, name] : {std::pair{kSeen, "seen"}, std::pair{kMasked, "masked"}}) {
    const Box key{panel.box.right() + sheet.dots(14), y - sheet.dots(4.5), sheet.dots(9), sheet.dots(9)};
    sheet.box(key, colour);
    sheet.frame(key);
    sheet.add(Writing{.at = {key.right() + 5, y}, .text = name});
    y += sheet.dots(15);
  }
  return sheet.finish({mask.title, joined({mask.caption, thinning})});
}

}  // namespace attn::figure
