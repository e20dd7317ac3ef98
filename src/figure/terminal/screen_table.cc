// Draws heatmaps and masks in the terminal: one labelled line per row if that fits, else small squares.
#include <algorithm>
#include <cmath>

#include "figure/layout/axes.h"
#include "figure/scene/reduce.h"
#include "figure/scene/ticks.h"
#include "figure/terminal/screen.h"

namespace attn::figure::screen {

namespace {

constexpr int kLongestRowLabel = 16;
constexpr int kMostPictureLines = 24;  // in a picture whose cells are enlarged

struct ScreenTable {
  Shades shades;
  Lines rows, columns;         // labels; may be empty
  std::vector<Lines> numbers;  // texts of the cells; may be empty
};

// The layout of a table with labels.
struct TableLayout {
  int gutter = 0;        // width of the row labels and the space after them
  int cell = 0;          // width of a cell; 0: the table does not fit
  bool upright = false;  // column labels are written downwards
};

int gutter_of(const Lines& labels, int width) {
  return labels.empty() ? 0 : std::min({longest(labels), kLongestRowLabel, width / 3}) + 1;
}

TableLayout layout_of(const ScreenTable& table, int width) {
  constexpr int kWidestName = 8;
  TableLayout layout{.gutter = gutter_of(table.rows, width)};
  const auto room = static_cast<int>((width - layout.gutter) / table.shades.places.columns());
  if (!table.numbers.empty()) {
    int number = 0;
    for (const Lines& row : table.numbers) number = std::max(number, longest(row));
    const int wanted = std::max(number, std::min(longest(table.columns), kWidestName)) + 1;
    layout.cell = room > number ? std::min(room, wanted) : 0;
    return layout;
  }
  if (table.rows.empty() && table.columns.empty()) return layout;
  const int name = std::max(2, std::min(longest(table.columns), kWidestName)) + 1;
  layout.upright = room < name && !table.columns.empty();
  layout.cell = layout.upright ? std::min(room, 2) : std::min(room, name);
  return layout;
}

// Column labels, written from top to bottom. A character wider than a cell is left out.
void add_upright(Lines& lines, const ScreenTable& table, const TableLayout& layout, const Brush& brush) {
  constexpr std::size_t kHighest = 9;
  std::vector<std::vector<Glyph>> labels;
  std::size_t height = 0;
  for (const std::string& label : table.columns) {
    labels.push_back(glyphs_of(label));
    if (labels.back().size() > kHighest) {
      labels.back().resize(kHighest - 1);
      labels.back().push_back({"⋮", 1});
    }
    height = std::max(height, labels.back().size());
  }
  for (std::size_t n = 0; n < height; ++n) {
    std::string line;
    for (const std::vector<Glyph>& label : labels) {
      const std::size_t above = height - label.size();
      const bool there = n >= above && label[n - above].columns <= layout.cell;
      line += there ? fitted(label[n - above].text, layout.cell) : repeat(" ", layout.cell);
    }
    lines.push_back(repeat(" ", layout.gutter) + brush.dim(line));
  }
}

void add_column_names(Lines& lines, const ScreenTable& table, const TableLayout& layout, const Brush& brush) {
  if (table.columns.empty()) return;
  if (layout.upright) return add_upright(lines, table, layout, brush);
  std::string line;
  const bool right = !table.numbers.empty() && !brush.coloured();  // aligned with the last digit
  for (const std::string& label : table.columns) {
    line += right ? " " + fitted(label, layout.cell - 1, true) : fitted(label, layout.cell - 1) + " ";
  }
  lines.push_back(repeat(" ", layout.gutter) + brush.dim(line));
}

void add_rows(Lines& lines, const ScreenTable& table, const TableLayout& layout, const Brush& brush) {
  const nn::Matrix& places = table.shades.places;
  for (std::int64_t i = 0; i < places.rows(); ++i) {
    const auto row = static_cast<std::size_t>(i);
    std::string line = table.rows.empty() ? "" : fitted(table.rows[row], layout.gutter - 1, true) + " ";
    for (std::int64_t j = 0; j < places.columns(); ++j) {
      if (!table.numbers.empty()) {
        const std::string& number = table.numbers[row][static_cast<std::size_t>(j)];
        line += brush.coloured() ? brush.on(fitted(number + " ", layout.cell, true), table.shades.colour(i, j))
                                 : fitted(number, layout.cell, true);
      } else {
        const int gap = brush.coloured() || layout.cell <= 2 ? 0 : 1;
        line += cell(table.shades, i, j, layout.cell - gap, brush) + repeat(" ", gap);
      }
    }
    lines.push_back(std::move(line));
  }
}

// For too many cells to label each: every fifth line has a row label, and a line below labels every tenth column.
void add_raster(Lines& lines, const ScreenTable& table, int width, const Brush& brush) {
  const nn::Matrix& places = table.shades.places;
  const int gutter = gutter_of(table.rows, width);
  const int zoom = zoom_for(places.rows(), places.columns(), {kMostPictureLines, width - gutter}, brush);
  const Lines picture = raster(table.shades, zoom, brush);
  for (std::size_t n = 0; n < picture.size(); ++n) {
    const auto row = static_cast<std::size_t>(places.rows()) * n / picture.size();
    const std::string label = table.rows.empty() || n % 5 != 0 ? "" : table.rows[row];
    lines.push_back((gutter == 0 ? "" : fitted(label, gutter - 1, true) + " ") + picture[n]);
  }
  if (table.columns.empty()) return;
  constexpr int kStep = 10;
  std::string below;
  for (int at = 0; at < places.columns() * zoom; at += kStep) {
    const int room = std::min(kStep, static_cast<int>(places.columns()) * zoom - at);
    const std::string& label = table.columns[static_cast<std::size_t>(at / zoom)];
    below += columns_of(label) < kStep && columns_of(label) <= room ? fitted(label, room) : repeat(" ", room);
  }
  lines.push_back(repeat(" ", gutter) + brush.dim(below));
}

// Every n-th label, as many as there are cells.
Lines thinned(const Lines& labels, std::int64_t cells) {
  Lines out;
  if (labels.empty()) return out;
  for (std::int64_t c = 0; c < cells; ++c)
    out.push_back(labels[static_cast<std::size_t>(c * std::ssize(labels) / cells)]);
  return out;
}

// With labels if they fit, else as squares.
void add_table(Lines& lines, const ScreenTable& table, const Screen& screen) {
  const Brush brush(screen.colours);
  const TableLayout layout = layout_of(table, screen.width);
  const int smallest = brush.coloured() ? 2 : 1;  // half blocks show twice as much
  if (layout.cell < smallest) return add_raster(lines, table, screen.width, brush);
  add_column_names(lines, table, layout, brush);
  add_rows(lines, table, layout, brush);
}

}  // namespace

Lines lines_of(const Heatmap& figure, const Screen& screen) {
  Lines lines;
  const Shader shader(figure.shade, numbers_in(figure.cells));
  const bool diverging = is_diverging(figure.shade.cmap);
  ScreenTable table{.shades = {}, .rows = visible(figure.rows), .columns = visible(figure.columns), .numbers = {}};
  const int most = screen.width - gutter_of(table.rows, screen.width);
  const bool fits = figure.cells.columns() <= most && figure.cells.rows() <= 2 * most;
  std::string caption = figure.caption;
  if (fits) {
    table.shades = shades_of(figure.cells, shader, diverging);
  } else {
    const nn::Matrix small = largest(figure.cells, most, most);
    table.rows = thinned(table.rows, small.rows());
    table.columns = thinned(table.columns, small.columns());
    table.shades = shades_of(small, shader, diverging);
    caption = joined({caption, here_largest_of(figure.cells, small)});
  }
  for (std::int64_t i = 0; figure.values && fits && i < figure.cells.rows(); ++i) {
    table.numbers.emplace_back();
    for (std::int64_t j = 0; j < figure.cells.columns(); ++j)
      table.numbers.back().push_back(cell_text(figure.cells.row(i)[j]));
  }
  if (const TableLayout layout = layout_of(table, screen.width); layout.cell == 0) table.numbers.clear();
  if (figure.values && table.numbers.empty()) caption = joined({caption, "The cells are too small for numbers."});
  add_title(lines, figure.title, screen);
  add_axes(lines, figure.y_label, figure.x_label, screen);
  add_table(lines, table, screen);
  if (!table.numbers.empty() && !Brush(screen.colours).coloured()) {
    add_caption(lines, figure.bar_label, screen);
  } else if (figure.bar) {
    add_bar(lines, shader, figure.shade, figure.bar_label, screen);
  }
  add_caption(lines, caption, screen);
  return lines;
}

Lines lines_of(const MaskPicture& figure, const Screen& screen) {
  Lines lines;
  nn::Matrix cells(figure.rows, figure.columns);
  std::copy(figure.seen.begin(), figure.seen.end(), cells.data());
  ScreenTable table{
      .shades = {}, .rows = visible(figure.row_labels), .columns = visible(figure.column_labels), .numbers = {}};
  std::string caption = figure.caption;
  const int most = screen.width - gutter_of(table.rows, screen.width);
  if (figure.columns > most || figure.rows > 2 * most) {
    nn::Matrix small = largest(cells, most, most);
    table.rows = thinned(table.rows, small.rows());
    table.columns = thinned(table.columns, small.columns());
    const std::string sizes = part_sizes(cells.view().shape, small.view().shape);
    caption = joined({caption, "Here a cell is filled if any of its " + sizes + " pairs may be seen."});
    cells = std::move(small);
  }
  constexpr double kGreen = 0.62;  // of viridis
  const Shader shader({.cmap = "viridis", .range = Range{0, 1 / kGreen}}, {0, 1});
  table.shades = shades_of(cells, shader, false);
  add_title(lines, figure.title, screen);
  add_axes(lines, figure.y_label, figure.x_label, screen);
  add_table(lines, table, screen);
  add_caption(lines, caption, screen);
  return lines;
}

}  // namespace attn::figure::screen
