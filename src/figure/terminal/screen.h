// figure/terminal/screen.h - helpers that all drawings in the terminal share.
#pragma once

#include <string>
#include <vector>

#include "figure/colour/shade.h"
#include "figure/scene/figure.h"
#include "figure/terminal/columns.h"
#include "figure/terminal/paint.h"

namespace attn::figure::screen {

using Lines = std::vector<std::string>;

// A table whose numbers have been mapped to places in a colour map.
struct Shades {
  nn::Matrix places;                // [rows, columns] in [0, 1]
  std::vector<std::uint8_t> steps;  // indices into the map
  const ColourMap* map = nullptr;
  bool diverging = false;  // places below the middle stand for negative numbers

  [[nodiscard]] std::uint8_t step(std::int64_t row, std::int64_t column) const {
    return steps[static_cast<std::size_t>(row * places.columns() + column)];
  }
  [[nodiscard]] const Colour& colour(std::int64_t row, std::int64_t column) const { return (*map)[step(row, column)]; }
};
Shades shades_of(const nn::Matrix& cells, const Shader& shader, bool diverging);

// `width` columns in a cell's colour or, without colours, its shade.
std::string cell(const Shades& shades, std::int64_t row, std::int64_t column, int width, const Brush& brush);

// Draws every cell as a square `zoom` columns wide; in colour, two squares share a line. All lines are columns * zoom
// wide.
Lines raster(const Shades& shades, int zoom, const Brush& brush);
int raster_lines(std::int64_t rows, int zoom, const Brush& brush) noexcept;
// The largest zoom for which a table has at most `width` columns and `height` lines; at least 1.
int zoom_for(std::int64_t rows, std::int64_t columns, Shape<2> height_and_width, const Brush& brush) noexcept;

// Wraps text to the width of the screen; nothing if the text is empty.
void add_title(Lines& lines, const std::string& title, const Screen& screen);
void add_caption(Lines& lines, const std::string& caption, const Screen& screen);
// A line that says which axis goes down and which goes right.
void add_axes(Lines& lines, const std::string& down, const std::string& across, const Screen& screen);
// The legend of colours or shades.
void add_bar(Lines& lines, const Shader& shader, const Shade& shade, const std::string& label, const Screen& screen);

std::vector<std::string> visible(const std::vector<std::string>& labels);
// "Here each cell is the largest of 8 x 8.": a note for the caption if a table did not fit.
std::string here_largest_of(const nn::Matrix& table, const nn::Matrix& cells);

Lines lines_of(const Heatmap& figure, const Screen& screen);
Lines lines_of(const MaskPicture& figure, const Screen& screen);
Lines lines_of(const Grid& figure, const Screen& screen);
Lines lines_of(const Overview& figure, const Screen& screen);
Lines lines_of(const HeadView& figure, const Screen& screen);
Lines lines_of(const Bars& figure, const Screen& screen);
Lines lines_of(const Curves& figure, const Screen& screen);

}  // namespace attn::figure::screen
