// figure/layout/axes.h - draws what surrounds a table: labels of cells, names of axes, the colour bar.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "figure/colour/shade.h"
#include "figure/layout/sheet.h"

namespace attn::figure {

// Where a table of cells is on the sheet.
struct Panel {
  Box box;
  std::int64_t rows = 0, columns = 0;

  [[nodiscard]] double row_pitch() const noexcept { return box.height / static_cast<double>(rows); }
  [[nodiscard]] double column_pitch() const noexcept { return box.width / static_cast<double>(columns); }
};

// Labels that are legible at a given pitch: in smaller type if cells are small, and only every n-th if that is not
// enough.
struct Labels {
  std::vector<std::string> texts;  // for cells 0, every, 2 every, ...
  std::int64_t every = 1;
  double size = kTextSize;
  double widest = 0;

  [[nodiscard]] bool empty() const noexcept { return texts.empty(); }
};
enum class Side : std::uint8_t { rows, columns };
Labels fit_labels(const Sheet& sheet, std::span<const std::string> labels, double pitch, Side side,
                  std::int64_t least_every = 1);

struct PanelLabels {
  Labels rows, columns;  // if both are thinned, by the same step
};
PanelLabels fit_labels(const Sheet& sheet, const Panel& panel, std::span<const std::string> rows,
                       std::span<const std::string> columns);

// Rows to the left of the panel, columns below it at 45 degrees.
void put_row_labels(Sheet& sheet, const Panel& panel, const Labels& labels);
void put_column_labels(Sheet& sheet, const Panel& panel, const Labels& labels);
// How far the labels reach below the panel, and to the left of it.
double depth_of(const Labels& labels);
double overhang_of(const Panel& panel, const Labels& labels);

// A sentence for the caption about labels that were left out; "" if there are none.
std::string thinning_note(const Labels& labels, std::string_view cell);
std::string thinning_note(const PanelLabels& labels);
// Joins sentences with spaces.
std::string joined(std::initializer_list<std::string_view> sentences);

void put_x_name(Sheet& sheet, double middle, double y, const std::string& name);
void put_y_name(Sheet& sheet, double x, double middle, const std::string& name);  // right edge at x

// The colour bar to the right of a panel, or of all panels, vertically centred.
void put_bar(Sheet& sheet, const Shader& shader, Scale scale, const Box& beside, const std::string& label);

// The best size of a cell if there are `cells` in a row, in whole pixels.
double cell_size(const Sheet& sheet, std::int64_t cells);

Tiles tiles_of(const nn::Matrix& cells, const Shader& shader, const Box& box);

}  // namespace attn::figure
