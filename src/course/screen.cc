#include "course/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "course/diagram.h"
#include "figure/terminal/columns.h"

namespace attn::course {

namespace {

using figure::Phrase;
using figure::Terminal;

constexpr int kIndent = 2;
constexpr std::int64_t kMostRows = 16;
constexpr double kHuge = 1e9;  // larger numbers, as in additive masks, are shown as a power of ten

struct ScreenWords {
  const char *minutes, *before, *question, *rows, *columns;
};
const ScreenWords& screen_words(const std::string& language) {
  static const ScreenWords en = {"about {} minutes", "requires: ", "Question: ", "{} more rows", "{} more columns"};
  static const ScreenWords zh = {"约 {} 分钟", "先读：", "问题：", "还有 {} 行", "还有 {} 列"};
  return language == "zh" ? zh : en;
}

std::string indented(const Terminal& terminal, std::string text, Phrase::Style style = Phrase::Style::plain) {
  return figure::repeat(" ", kIndent) + terminal.sentence({{std::move(text), style}}, kIndent);
}

// The number of decimals for all numbers of an array: at most 4, without trailing zeros that all share.
int digits_for(const LessonArray& array) {
  double largest = 0;
  for (const double number : array.numbers)
    if (std::abs(number) < kHuge) largest = std::max(largest, std::abs(number));
  const int most = largest >= 100 ? 2 : 4;
  const auto enough = [&](int digits) {
    const double unit = std::pow(10.0, digits);
    return std::ranges::all_of(array.numbers, [&](double number) {
      if (!(std::abs(number) < kHuge) || number == 0) return true;
      return std::abs(number) > 1e-4 && std::abs(number * unit - std::round(number * unit)) < 1e-6 * unit;
    });
  };
  for (int digits = 0; digits < most; ++digits)
    if (enough(digits)) return digits;
  return most;
}

std::string cell_number(double number, int digits) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  if (std::abs(number) >= kHuge) return fmt::format("{:.0e}", number);
  if (digits > 0 && number != 0 && std::abs(number) < 5e-5) return fmt::format("{:.1e}", number);
  return fmt::format("{:.{}f}", number, digits);
}

// The numbers of an array as text; all axes but the last are rows.
struct TextGrid {
  std::int64_t height = 1, width = 1;
  std::vector<std::vector<std::string>> cells;
};
TextGrid text_grid(const LessonArray& array) {
  TextGrid grid;
  grid.width = array.shape.empty() ? 1 : array.shape.back();
  grid.height = grid.width == 0 ? 0 : std::ssize(array.numbers) / grid.width;
  const int digits = digits_for(array);
  for (std::int64_t i = 0; i < std::min(grid.height, kMostRows); ++i) {
    std::vector<std::string>& row = grid.cells.emplace_back();
    for (std::int64_t j = 0; j < grid.width; ++j)
      row.push_back(cell_number(array.numbers[static_cast<std::size_t>(i * grid.width + j)], digits));
  }
  return grid;
}

std::string name_at(const std::vector<std::string>& names, std::int64_t n) {
  return n < std::ssize(names) ? names[static_cast<std::size_t>(n)] : "";
}

// The index of a table in an array of more than two axes: "[0, 1]".
std::string table_place(const LessonArray& array, std::int64_t table) {
  std::vector<std::int64_t> place;
  for (std::int64_t axis = array.rank() - 3; axis >= 0; --axis) {
    const std::int64_t size = array.shape[static_cast<std::size_t>(axis)];
    place.insert(place.begin(), table % size);
    table /= size;
  }
  return shape_text(place);
}

std::string made_of(const MadeFrom& made) {
  switch (made.by) {
    case MadeFrom::By::product:
      return "= " + made.left + " " + made.right;
    case MadeFrom::By::transposed:
      return "= " + made.left + " " + made.right + "^T";
    case MadeFrom::By::rows:
      return "= softmax(" + made.left + ")";
    case MadeFrom::By::each:
      return "← " + made.left + (made.right.empty() ? "" : ", " + made.right);
    case MadeFrom::By::input:
      break;
  }
  return {};
}

std::string lines_text(const std::string& name, const LessonOutput& output) {
  const std::string* const lines = output.words.find(name);
  if (lines == nullptr) throw std::invalid_argument("the lesson shows '" + name + "', which was not computed");
  std::string out;
  std::istringstream in(*lines);
  for (std::string line; std::getline(in, line);) out += figure::repeat(" ", 2 * kIndent) + line + "\n";
  return out + "\n";
}

std::string block_text(const ScriptBlock& block, const LessonOutput& output, const OnScreen& on) {
  if (block.how == "code" || block.how == "live") return {};  // only on the page
  if (block.how == "lines") return lines_text(block.text, output);
  if (block.how == "diagram") return diagram_text(block.text, on);
  const figure::Figure* const found = block.how == "table" ? nullptr : output.figures.find(block.text);
  if (found != nullptr) return figure::draw(*found, on.terminal.screen()) + "\n";
  const LessonArray* array = output.arrays.find(block.text);
  if (array == nullptr) array = output.measured.find(block.text);
  if (array == nullptr) throw std::invalid_argument("the lesson shows '" + block.text + "', which was not computed");
  return array_text(block.text, *array, on);
}

}  // namespace

std::string array_text(const std::string& name, const LessonArray& array, const OnScreen& on) {
  const ScreenWords& words = screen_words(on.language);
  const TextGrid grid = text_grid(array);
  const std::string from = made_of(array.made);
  std::string out = figure::repeat(" ", kIndent) + on.terminal.bold(name) + " " +
                    on.terminal.dim(shape_text(array.shape) + (from.empty() ? "" : "  " + from)) + "\n";
  int cell = std::min(figure::longest(array.columns), 9);
  for (const auto& row : grid.cells) cell = std::max(cell, std::min(figure::longest(row), 12));
  cell += 2;
  const int names = std::min(figure::longest(array.rows), 24);
  const int room = on.terminal.width() - 2 * kIndent - names;
  const std::int64_t columns = std::min<std::int64_t>(grid.width, std::max(1, room / cell));
  const std::string margin = figure::repeat(" ", 2 * kIndent);
  if (!array.columns.empty()) {
    std::string head = margin + figure::repeat(" ", names);
    for (std::int64_t j = 0; j < columns; ++j) head += "  " + figure::fitted(name_at(array.columns, j), cell - 2, true);
    out += on.terminal.dim(head) + "\n";
  }
  const std::int64_t high = array.rank() > 2 ? array.shape.end()[-2] : grid.height;  // rows per table
  for (std::size_t i = 0; i < grid.cells.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    if (array.rank() > 2 && row % high == 0) out += on.terminal.dim(margin + table_place(array, row / high)) + "\n";
    std::string line = margin + figure::fitted(name_at(array.rows, row % high), names);
    for (std::int64_t j = 0; j < columns; ++j)
      line += figure::fitted(grid.cells[i][static_cast<std::size_t>(j)], cell, true);
    out += line + "\n";
  }
  std::string left_out;
  if (grid.height > kMostRows) left_out = fmt::format(fmt::runtime(words.rows), grid.height - kMostRows);
  if (grid.width > columns)
    left_out += (left_out.empty() ? "" : ", ") + fmt::format(fmt::runtime(words.columns), grid.width - columns);
  if (!left_out.empty()) out += margin + on.terminal.dim("… " + left_out) + "\n";
  return out + "\n";
}

std::string beginning(const Lesson& lesson, const Script& script, const OnScreen& on) {
  const ScreenWords& words = screen_words(on.language);
  std::string facts = fmt::format(fmt::runtime(words.minutes), lesson.minutes);
  for (std::size_t n = 0; n < lesson.before.size(); ++n)
    facts += (n == 0 ? std::string(" · ") + words.before : ", ") + lesson.before[n];
  return "\n" + indented(on.terminal, script.title, Phrase::Style::bold) + indented(on.terminal, script.line) +
         indented(on.terminal, facts, Phrase::Style::dim);
}

std::string step_text(const ScriptStep& step, const LessonOutput& output, const OnScreen& on) {
  const Terminal& terminal = on.terminal;
  std::string out = "\n" + indented(terminal, step.title, Phrase::Style::bold) + figure::repeat(" ", kIndent) +
                    terminal.line() + "\n\n";
  for (std::size_t n = 0; n < step.blocks.size(); ++n) {
    const ScriptBlock& block = step.blocks[n];
    const std::string clock = block.measured ? "⏱ " : "";
    switch (block.what) {
      case ScriptBlock::What::paragraph:
        out += indented(terminal, clock + block.text) + "\n";
        break;
      case ScriptBlock::What::formula:
        out += figure::repeat(" ", 2 * kIndent) + terminal.bold(block.text) + "\n\n";
        break;
      case ScriptBlock::What::item:
        out += indented(terminal, clock + "- " + block.text);
        if (n + 1 < step.blocks.size() && step.blocks[n + 1].what != ScriptBlock::What::item) out += "\n";
        break;
      case ScriptBlock::What::wrong:
        out += indented(terminal, clock + "✗ " + block.text) + "\n";
        break;
      case ScriptBlock::What::question:
        out += indented(terminal, screen_words(on.language).question + block.text) + "\n";
        break;
      case ScriptBlock::What::show:
        if (block.measured) out += indented(terminal, "⏱");
        out += block_text(block, output, on);
        break;
    }
  }
  return figure::without_blank_ends(out);
}

}  // namespace attn::course
