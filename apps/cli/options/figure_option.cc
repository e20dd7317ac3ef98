#include "apps/cli/options/figure_option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cmath>

#include "apps/cli/output/output_file.h"
#include "apps/cli/output/terminal.h"
#include "figure/scene/attention_figures.h"

namespace attn::cli {

namespace {

// A check for CLI11: returns the message of what `read` throws, or an empty string.
template <typename Read>
auto refused_by(Read read) {
  return [read](const std::string& text) -> std::string {
    try {
      read(text);
      return "";
    } catch (const std::invalid_argument& wrong) {
      return wrong.what();
    }
  };
}

figure::Range parse_range(const std::string& text) {
  const std::size_t comma = text.find(',');
  figure::Range range;
  const bool two = comma != std::string::npos && CLI::detail::lexical_cast(text.substr(0, comma), range.from) &&
                   CLI::detail::lexical_cast(text.substr(comma + 1), range.to);
  if (!two || !std::isfinite(range.from) || !std::isfinite(range.to))
    throw std::invalid_argument("'" + text + "' is not a range; write two numbers and a comma, such as 0,1");
  if (range.from >= range.to) throw std::invalid_argument("the range " + text + " is backwards or empty");
  return range;
}

figure::Scale parse_scale(const std::string& text) {
  if (const auto scale = figure::parse_scale(text)) return *scale;
  throw std::invalid_argument("unknown scale '" + text + "'; choose linear, sqrt or log");
}

std::string utf8_of(char32_t code) {
  std::string out;
  const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // bytes after the first
  constexpr std::array<unsigned, 4> kFirst = {0, 0xC0, 0xE0, 0xF0};
  for (int i = more; i >= 0; --i)
    out += static_cast<char>(i == more ? kFirst[static_cast<std::size_t>(more)] | code >> 6 * i
                                       : 0x80 | (code >> 6 * i & 0x3F));
  return out;
}

const char* package_with(char32_t code) {
  const auto within = [&](char32_t from, char32_t to) { return code >= from && code <= to; };
  if (within(0x1100, 0x11FF) || within(0x2E80, 0xA4CF) || within(0xAC00, 0xD7FF) || within(0xF900, 0xFAFF) ||
      within(0xFE30, 0xFE4F) || within(0xFF00, 0xFFEF) || within(0x20000, 0x3FFFF))
    return "fonts-noto-cjk";
  return within(0x1F000, 0x1FAFF) ? "fonts-noto-color-emoji" : "fonts-noto-core";
}

void note_missing(char32_t code) {
  fmt::print(stderr,
             "note: no installed font has {} (U+{:04X}), the figure shows a box instead; install a font that has it, "
             "e.g. apt install {}\n",
             utf8_of(code), static_cast<unsigned>(code), package_with(code));
}

}  // namespace

void FigureOption::add_colours(CLI::App& command) {
  command.add_option("--cmap", shade.cmap, fmt::format("Colour map: {}", fmt::join(figure::colour_map_names(), ", ")))
      ->check(refused_by([](const std::string& name) { figure::colour_map(name); }), "", "")
      ->type_name("NAME")
      ->capture_default_str();
  command
      .add_option_function<std::string>(
          "--scale", [this](const std::string& name) { shade.scale = parse_scale(name); },
          "Scale from numbers to colours: linear, sqrt or log")
      ->check(refused_by(parse_scale), "", "")
      ->type_name("NAME")
      ->default_str(std::string(figure::name_of(shade.scale)));
  command
      .add_option_function<std::string>(
          "--range", [this](const std::string& text) { shade.range = parse_range(text); },
          "Numbers for the lowest and the highest colour (default: 0 and the largest)")
      ->check(refused_by(parse_range), "", "")
      ->type_name("FROM,TO");
}

void FigureOption::add_to(CLI::App& command, const FigureParts& parts) {
  command.add_option("--output,-o", file, "File to write the figure to: .png, .svg or .pdf (default: the terminal)")
      ->check(refused_by([](const std::string& name) { figure::format_of(name); }), "", "")
      ->type_name("FILE");
  if (parts.colours) add_colours(command);
  if (parts.values) command.add_flag("--values", values, "Print the numbers in the cells where they fit");
  if (parts.reduce) {
    command
        .add_option_function<std::string>(
            "--reduce",
            [this](const std::string& name) { reduce = name == "max" ? insight::Reduce::max : insight::Reduce::mean; },
            "Value of a cell that stands for several weights of a long text: max or mean")
        ->check(CLI::IsMember({"max", "mean"}))
        ->default_str(std::string(figure::name_of(reduce)));
  }
  command.add_option("--title", title, "Title above the figure")->type_name("TEXT");
  if (parts.axes) {
    command.add_option("--xlabel", x_label, "Label below the figure")->type_name("TEXT");
    command.add_option("--ylabel", y_label, "Label beside the figure")->type_name("TEXT");
  }
  if (parts.bar) command.add_option("--bar-label", bar_label, "Label beside the colour bar")->type_name("TEXT");
  command.add_option("--dpi", dpi, "Resolution in dots per inch")
      ->check(CLI::Range(20, 2400))
      ->type_name("N")
      ->capture_default_str();
}

std::int64_t FigureOption::most_cells(std::int64_t in_file) const {
  constexpr std::int64_t kLabels = 10;  // columns beside a figure in the terminal
  if (!file.empty()) return in_file;
  return std::max<std::int64_t>(Terminal::of_stdout().screen().width - kLabels, kLabels);
}

void FigureOption::write(const figure::Figure& figure) const {
  if (file.empty()) return print(figure::draw(figure, Terminal::of_stdout().screen()));
  const figure::Output output{figure::format_of(file), dpi};
  const std::string bytes = figure::draw(figure, output);
  OutputFile out(file);
  out.write(bytes);
  out.commit();
  if (const auto missing = figure::first_missing(figure, output)) note_missing(*missing);
}

}  // namespace attn::cli
