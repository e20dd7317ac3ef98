// figure/layout/axes.h - what stands around a table: its cells' labels, the names of its axes, the colour bar.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "figure/colour/shade.h"
#include "figure/layout/sheet.h"

namespace attn::figure {

// A table of cells on the sheet.
struct Panel {
  Box box;
  std::int64_t rows = 0, columns = 0;

  [[nodiscard]] double row_pitch() const noexcept { return box.height / static_cast<double>(rows); }
  [[nodiscard]] double column_pitch() const noexcept { return box.width / static_cast<double>(columns); }
};

// Labels as they can be read at a pitch: in smaller type where they stand close, and every so many-th where even that
// does not help.
struct Labels {
  std::vector<std::string> texts;  // of cells 0, every, 2 every, ...
  std::int64_t every = 1;
  double size = kTextSize;
  double widest = 0;

  [[nodiscard]] bool empty() const noexcept { return texts.empty(); }
};
enum class Side : std::uint8_t { rows, columns };
Labels fit_labels(const Sheet& sheet, std::span<const std::string> labels, double pitch, Side side,
                  std::int64_t least_every = 1);

struct PanelLabels {
  Labels rows, columns;  // where both are thinned, alike
};
PanelLabels fit_labels(const Sheet& sheet, const Panel& panel, std::span<const std::string> rows,
                       std::span<const std::string> columns);

// To the left of the panel, and below it at 45 degrees.
void put_row_labels(Sheet& sheet, const Panel& panel, const Labels& labels);
void put_column_labels(Sheet& sheet, const Panel& panel, const Labels& labels);
// How far below the panel, and how far to the left of it, the labels reach.
double depth_of(const Labels& labels);
double overhang_of(const Panel& panel, const Labels& labels);

// What labels were left out, as a sentence for the caption; "" where none was.
std::string thinning_note(const Labels& labels, std::string_view cell);
std::string thinning_note(const PanelLabels& labels);
// Sentences as one text.
std::string joined(std::initializer_list<std::string_view> sentences);

void put_x_name(Sheet& sheet, double middle, double y, const std::string& name);
void put_y_name(Sheet& sheet, double x, double middle, const std::string& name);  // its right edge is at x

// The colour bar to the right of a panel, or of all panels, in the middle of its height.
void put_bar(Sheet& sheet, const Shader& shader, Scale scale, const Box& beside, const std::string& label);

// How large a cell is best drawn where there are `cells` in a row, in whole dots.
double cell_size(const Sheet& sheet, std::int64_t cells);

Tiles tiles_of(const nn::Matrix& cells, const Shader& shader, const Box& box);

}  // namespace attn::figure
