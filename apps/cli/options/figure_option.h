// apps/cli/options/figure_option.h - options for a figure's look and for its output, a file or the terminal.
#pragma once

#include <optional>
#include <string>

#include "apps/cli/command.h"
#include "figure/scene/figure.h"
#include "insight/blocks/picture.h"

namespace attn::cli {

// Which options a figure has besides --output, --title and --dpi.
struct FigureParts {
  bool colours = true;  // --cmap, --scale, --range
  bool axes = true;     // --xlabel, --ylabel
  bool bar = true;      // --bar-label
  bool values = true;   // --values
  bool reduce = true;   // --reduce
};

// Wrong values are refused while the command line is parsed, before any work.
struct FigureOption {
  std::string file;  // empty: the terminal
  figure::Shade shade;
  bool values = false;
  std::optional<std::string> title, x_label, y_label, bar_label;
  double dpi = 150;
  insight::Reduce reduce = insight::Reduce::max;

  void add_to(CLI::App& command, const FigureParts& parts = {});

  // The most cells per side that the output can show: `in_file` for a file, else what the terminal's width allows.
  [[nodiscard]] std::int64_t most_cells(std::int64_t in_file) const;

  // Overrides the figure's own title, labels and colours with those of the command line.
  template <typename F>
  void dress(F& figure) const {
    if (title) figure.title = *title;
    if constexpr (requires { figure.shade; }) figure.shade = shade;
    if constexpr (requires { figure.values; }) figure.values = values;
    if constexpr (requires { figure.bar_label; }) figure.bar_label = bar_label.value_or(figure.bar_label);
    if constexpr (requires { figure.x_label; }) figure.x_label = x_label.value_or(figure.x_label);
    if constexpr (requires { figure.y_label; }) figure.y_label = y_label.value_or(figure.y_label);
  }

  // Writes to the file or to standard output. Throws std::invalid_argument if the figure cannot be drawn, attn::Error
  // if the file cannot be written.
  void write(const figure::Figure& figure) const;

 private:
  void add_colours(CLI::App& command);
};

}  // namespace attn::cli
