#include "figure/terminal/screen.h"

#include <algorithm>
#include <cmath>

#include "figure/scene/check.h"
#include "figure/scene/label.h"
#include "figure/scene/reduce.h"
#include "figure/scene/ticks.h"

namespace attn::figure {

namespace screen {

namespace {

// The number at a place of the map, by bisection: place() is monotonic.
double number_at(const Shader& shader, double place) {
  double low = shader.range().from, high = shader.range().to;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (shader.place(middle) < place ? low : high) = middle;
  }
  return high;
}

std::string blocks_explained(const Shader& shader, bool diverging) {
  const double span = diverging ? 0.5 : 1;
  std::string text;
  for (std::size_t n = 0; n < kBlockFrom.size(); ++n) {
    const double from = number_at(shader, 1 - span + span * kBlockFrom[n]);
    text += std::string(kBlocks[n]) + " < " + short_text(from) + " <= ";
  }
  return text + std::string(kBlocks.back()) + (diverging ? ", - in front: negative" : "");
}

std::string gradient(const Shader& shader, int width, const Brush& brush) {
  std::string bar;
  for (int c = 0; c < width; ++c) {
    const auto step = static_cast<std::size_t>(std::lround(255.0 * c / std::max(1, width - 1)));
    bar += brush.on(" ", shader.map()[step]);
  }
  return bar;
}

void add_styled(Lines& lines, const std::string& text, const Screen& screen, bool bold) {
  if (text.empty()) return;
  const Brush brush(screen.colours);
  for (const std::string& line : wrapped(figure::visible(text), screen.width)) {
    lines.push_back(bold ? brush.bold(line) : brush.dim(line));
  }
}

}  // namespace

Shades shades_of(const nn::Matrix& cells, const Shader& shader, bool diverging) {
  const auto count = static_cast<std::size_t>(cells.rows() * cells.columns());
  Shades shades{nn::Matrix(cells.rows(), cells.columns()), std::vector<std::uint8_t>(count), &shader.map(), diverging};
  for (std::size_t i = 0; i < count; ++i) shades.places.data()[i] = static_cast<float>(shader.place(cells.data()[i]));
  shader.steps({cells.data(), count}, shades.steps.data());
  return shades;
}

std::string cell(const Shades& shades, std::int64_t row, std::int64_t column, int width, const Brush& brush) {
  if (brush.coloured()) return brush.on(repeat(" ", width), shades.colour(row, column));
  const double place = shades.places.row(row)[column];
  if (!shades.diverging) return repeat(block_of(place), width);
  const std::string_view block = block_of(std::abs(place - 0.5) * 2);
  return place < 0.5 && block != kBlocks[0] ? "-" + repeat(block, width - 1) : repeat(block, width);
}

int raster_lines(std::int64_t rows, int zoom, const Brush& brush) noexcept {
  const auto all = static_cast<int>(rows);
  return brush.coloured() ? (all * zoom + 1) / 2 : all * std::max(1, zoom / 2);
}

int zoom_for(std::int64_t rows, std::int64_t columns, Shape<2> height_and_width, const Brush& brush) noexcept {
  const auto fits = [&](int zoom) {
    return columns * zoom <= height_and_width[1] && raster_lines(rows, zoom, brush) <= height_and_width[0];
  };
  int zoom = 1;
  for (int next = 2; fits(next); ++next) {
    if (brush.coloured() || next % 2 == 0) zoom = next;  // characters are twice as high as wide
  }
  return zoom;
}

namespace {

// One line of a raster. Adjacent cells of one colour share their escape codes, which matters for masks.
std::string raster_line(const Shades& shades, std::int64_t upper, std::int64_t lower, int zoom, const Brush& brush) {
  const bool both = lower < shades.places.rows();
  std::string line;
  for (std::int64_t c = 0, next = 0; c < shades.places.columns(); c = next) {
    const auto same = [&](std::int64_t other) {
      return shades.step(upper, other) == shades.step(upper, c) &&
             (!both || shades.step(lower, other) == shades.step(lower, c));
    };
    for (next = c + 1; next < shades.places.columns() && same(next) && brush.coloured();) ++next;
    const int width = zoom * static_cast<int>(next - c);
    if (upper == lower) {
      line += cell(shades, upper, c, width, brush);
    } else if (both) {
      line += brush.halves(shades.colour(upper, c), shades.colour(lower, c), width);
    } else {
      line += brush.in(repeat("▀", width), shades.colour(upper, c));
    }
  }
  return line;
}

}  // namespace

Lines raster(const Shades& shades, int zoom, const Brush& brush) {
  Lines lines;
  const int count = raster_lines(shades.places.rows(), zoom, brush);
  for (int n = 0; n < count; ++n) {
    const std::int64_t upper = brush.coloured() ? 2 * n / zoom : n / std::max(1, zoom / 2);
    const std::int64_t lower = brush.coloured() ? (2 * n + 1) / zoom : upper;
    lines.push_back(raster_line(shades, upper, lower, zoom, brush));
  }
  return lines;
}

void add_title(Lines& lines, const std::string& title, const Screen& screen) { add_styled(lines, title, screen, true); }

void add_caption(Lines& lines, const std::string& caption, const Screen& screen) {
  add_styled(lines, caption, screen, false);
}

void add_axes(Lines& lines, const std::string& down, const std::string& across, const Screen& screen) {
  std::string text = down.empty() ? "" : "↓ " + down;
  if (!across.empty()) text += (text.empty() ? "→ " : "   → ") + across;
  add_caption(lines, text, screen);
}

void add_bar(Lines& lines, const Shader& shader, const Shade& shade, const std::string& label, const Screen& screen) {
  const Brush brush(screen.colours);
  const std::string note(note_of(shade.scale));
  const std::string words = figure::visible(label) + (note.empty() ? "" : " (" + note + ")");
  if (!brush.coloured()) {
    for (std::string& line : wrapped(words + ": " + blocks_explained(shader, is_diverging(shade.cmap)), screen.width)) {
      lines.push_back(std::move(line));
    }
    return;
  }
  const std::string low = short_text(shader.range().from) + " ", high = " " + short_text(shader.range().to);
  const int width = std::clamp(screen.width - figure::columns_of(low) - figure::columns_of(high), 1, 32);
  const int rest = screen.width - figure::columns_of(low) - figure::columns_of(high) - width - 2;
  lines.push_back(low + gradient(shader, width, brush) + high);
  if (figure::columns_of(words) <= rest) {
    lines.back() += "  " + brush.dim(words);
  } else {
    add_caption(lines, words, screen);
  }
}

std::vector<std::string> visible(const std::vector<std::string>& labels) {
  std::vector<std::string> out;
  for (const std::string& label : labels) out.push_back(figure::visible(label));
  return out;
}

std::string here_largest_of(const nn::Matrix& table, const nn::Matrix& cells) {
  return "Here each cell is the largest of " + part_sizes(table.view().shape, cells.view().shape) + ".";
}

}  // namespace screen

std::string draw(const Figure& figure, const Screen& screen) {
  check(figure);
  constexpr int kNarrowest = 20;
  const Screen wide{std::max(screen.width, kNarrowest), screen.colours};
  std::string out;
  for (const std::string& line : std::visit([&](const auto& one) { return screen::lines_of(one, wide); }, figure)) {
    const std::size_t end = line.find_last_not_of(' ');  // npos: an empty line
    out += line.substr(0, end + 1) + "\n";
  }
  return out;
}

}  // namespace attn::figure
