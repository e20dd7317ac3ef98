// figure/scene/figure.h - descriptions of figures, and functions that draw them as PNG, PDF, SVG or in the terminal.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "figure/colour/colour_map.h"
#include "nn/infer/matrix.h"

namespace attn::figure {

// How a number maps to a place in the colour map; see Shader.
enum class Scale : std::uint8_t { linear, square_root, log };
std::string_view name_of(Scale scale) noexcept;  // "linear", "sqrt", "log"
std::optional<Scale> parse_scale(std::string_view name) noexcept;

struct Range {
  double from = 0, to = 1;
};

// How numbers become colours.
struct Shade {
  std::string cmap = "viridis";  // one of colour_map_names()
  Scale scale = Scale::linear;
  std::optional<Range> range = std::nullopt;  // default: 0 to the largest number; -a to a for a diverging map
};

// A table of numbers.
struct Heatmap {
  nn::Matrix cells;                        // [rows, columns]
  std::vector<std::string> rows, columns;  // one label per row or column; empty: no labels
  std::string title;
  std::string x_label = "Key", y_label = "Query";
  std::string bar_label = "Attention weight";
  std::string caption;  // notes for the reader, such as how cells were reduced
  Shade shade;
  bool values = false;  // print numbers in the cells, if they fit
  bool bar = true;      // draw the colour bar
};

// Several tables that share axes and colours: the heads of a layer.
struct Grid {
  std::vector<Heatmap> panels;  // their cells, rows, columns and title are used; labels are drawn if they fit
  std::int64_t columns = 0;     // 0: 2 x 4 for 8, else as square as possible
  std::string title, x_label = "Key", y_label = "Query", bar_label = "Attention weight", caption;
  Shade shade;
};

// Thumbnails of all heads: layers downwards, heads to the right.
struct Overview {
  std::int64_t layers = 0, heads = 0;
  std::vector<nn::Matrix> cells;  // [L H]
  std::string title, bar_label = "Attention weight", caption;
  Shade shade;
};

// Two columns of tokens, with lines between them.
struct HeadView {
  struct Head {
    std::string name;
    nn::Matrix weights;  // [queries, keys]
  };
  std::vector<std::string> queries, keys;
  std::vector<Head> heads;  // each has its own colour, dash and label
  double threshold = 0.01;  // smaller weights are not drawn; the caption says what share of the attention they hold
  std::string title, query_label = "Query", key_label = "Key", caption;
};

// A mask; true means visible.
struct MaskPicture {
  std::int64_t rows = 0, columns = 0;
  std::vector<bool> seen;  // [rows, columns]
  std::vector<std::string> row_labels, column_labels;
  std::string title, x_label = "Key", y_label = "Query", caption;
};

struct Bars {
  struct Bar {
    std::string label;
    double value = 0;
  };
  std::vector<Bar> bars;
  std::string title, x_label, caption;
};

struct Curves {
  struct Curve {
    std::string name;
    std::vector<double> x, y;
  };
  std::vector<Curve> curves;
  std::string title, x_label, y_label, caption;
  bool log_x = false, log_y = false;
};

using Figure = std::variant<Heatmap, Grid, Overview, HeadView, MaskPicture, Bars, Curves>;

enum class Format : std::uint8_t { png, svg, pdf };
// By the ending of a file name. Throws std::invalid_argument that lists the three.
Format format_of(const std::filesystem::path& file);

struct Output {
  Format format = Format::png;
  double dpi = 150;  // of a PNG, and of the raster parts of the other formats
};

// Draws to the bytes of a file. Throws std::invalid_argument for a figure that cannot be drawn: no cells, more or fewer
// labels than cells, an unknown colour map, an empty range, numbers that are not finite, a dpi outside 20 to 2400.
std::string draw(const Figure& figure, const Output& output);

// The first character that no font of this machine has, and that the picture shows as a box. None for an SVG, which
// uses the fonts of its viewer.
std::optional<char32_t> first_missing(const Figure& figure, const Output& output);

// The capabilities of a terminal.
struct Screen {
  int width = 80;
  enum class Colours : std::uint8_t { none, indexed, direct } colours = Colours::none;  // 256 colours, 24 bits
};
std::string draw(const Figure& figure, const Screen& screen);

}  // namespace attn::figure
