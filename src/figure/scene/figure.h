// figure/scene/figure.h - pictures of attention: one description, drawn as PNG, PDF, SVG or in the terminal.
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

// How a number becomes a place in the colour map.
enum class Scale : std::uint8_t { linear, square_root, log };
std::string_view name_of(Scale scale) noexcept;  // "linear", "sqrt", "log"
std::optional<Scale> parse_scale(std::string_view name) noexcept;

struct Range {
  double from = 0, to = 1;
};

// Colours of a table.
struct Shade {
  std::string cmap = "viridis";  // one of colour_map_names()
  Scale scale = Scale::linear;
  std::optional<Range> range = std::nullopt;  // default: 0 to the largest number; of a diverging map -a to a
};

// A table of numbers.
struct Heatmap {
  nn::Matrix cells;                        // [rows, columns]
  std::vector<std::string> rows, columns;  // labels of cells; empty: no labels
  std::string title;
  std::string x_label = "Key", y_label = "Query";
  std::string bar_label = "Attention weight";
  std::string caption;  // what must be said: how cells were reduced
  Shade shade;
  bool values = false;  // numbers in the cells, where they fit
  bool bar = true;      // the colour bar
};

// Several tables that share axes and colours: the heads of a layer.
struct Grid {
  std::vector<Heatmap> panels;  // rows, columns, title of each are used; labels are drawn where they fit
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

// Two columns of tokens, and lines between them.
struct HeadView {
  struct Head {
    std::string name;
    nn::Matrix weights;  // [queries, keys]
  };
  std::vector<std::string> queries, keys;
  std::vector<Head> heads;  // each has its own colour, dash and label
  double threshold = 0.01;  // weights below are not drawn; the caption says how much mass that is
  std::string title, query_label = "Query", key_label = "Key", caption;
};

// True: may be seen.
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
// By the end of a file's name; throws std::invalid_argument that names the three.
Format format_of(const std::filesystem::path& file);

struct Output {
  Format format = Format::png;
  double dpi = 150;  // of PNG; of the raster parts of the others
};

// The bytes of a file. Throws std::invalid_argument for a figure that cannot be drawn: no cells, labels whose number is
// not that of the cells, an unknown colour map, a range that is no range, numbers that are not finite.
std::string draw(const Figure& figure, const Output& output);

// The first character in it that no font of this machine has, so that the picture shows a box. None in an SVG, which is
// drawn with the fonts of whoever looks at it.
std::optional<char32_t> first_missing(const Figure& figure, const Output& output);

// What a terminal can show.
struct Screen {
  int width = 80;
  enum class Colours : std::uint8_t { none, indexed, direct } colours = Colours::none;  // 256 colours, 24 bits
};
std::string draw(const Figure& figure, const Screen& screen);

}  // namespace attn::figure
