// Draws many small tables in the terminal: the heads of a layer, or of a model.
#include <algorithm>

#include "figure/layout/axes.h"
#include "figure/scene/check.h"
#include "figure/scene/reduce.h"
#include "figure/terminal/screen.h"

namespace attn::figure::screen {

namespace {

constexpr int kPanelGap = 2;

struct PanelLines {
  int width = 0;  // of every line
  Lines lines;
};

void add_beside(Lines& lines, const std::vector<PanelLines>& blocks) {
  std::size_t height = 0;
  for (const PanelLines& block : blocks) height = std::max(height, block.lines.size());
  for (std::size_t n = 0; n < height; ++n) {
    std::string line;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (b > 0) line += repeat(" ", kPanelGap);
      line += n < blocks[b].lines.size() ? blocks[b].lines[n] : repeat(" ", blocks[b].width);
    }
    lines.push_back(std::move(line));
  }
}

// A panel of at most `most` columns, under its title.
PanelLines panel_lines(const std::string& title, const Shades& shades, std::int64_t most, const Brush& brush) {
  constexpr std::int64_t kHighest = 20;
  const int zoom = zoom_for(shades.places.rows(), shades.places.columns(), {kHighest, most}, brush);
  const int picture = static_cast<int>(shades.places.columns()) * zoom;
  PanelLines block{std::max(picture, std::min(static_cast<int>(most), columns_of(title))), {}};
  block.lines.push_back(brush.bold(fitted(title, block.width)));
  for (const std::string& line : raster(shades, zoom, brush)) {
    block.lines.push_back(line + repeat(" ", block.width - picture));
  }
  return block;
}

// How many panels there are per row, and how many cells each may show.
struct GridPlaces {
  std::int64_t across = 1;
  std::int64_t cells = 1;
};

// As the grid requests, unless panels would be narrower than 16 columns and have more cells than fit.
GridPlaces places_for(const Grid& grid, int width) {
  constexpr std::int64_t kSmallest = 16;
  std::int64_t widest = 1;
  for (const Heatmap& panel : grid.panels) widest = std::max(widest, panel.cells.columns());
  GridPlaces places{std::min<std::int64_t>(columns_of(grid), std::ssize(grid.panels)), 0};
  for (;; --places.across) {
    places.cells = (width - kPanelGap * (places.across - 1)) / places.across;
    if (places.across == 1 || places.cells >= std::min(kSmallest, widest)) return places;
  }
}

Range numbers_in_grid(const Grid& grid) {
  Range all = figure::numbers_in(grid.panels.front().cells);
  for (const Heatmap& panel : grid.panels) all = united(all, figure::numbers_in(panel.cells));
  return all;
}

// "0 [CLS]  1 the  2 cat": a legend of rows and columns, if it is short.
void add_tokens(Lines& lines, const Grid& grid, const Screen& screen) {
  constexpr std::size_t kMostLines = 3;
  const Heatmap& first = grid.panels.front();
  for (const Heatmap& panel : grid.panels) {
    if (panel.rows != first.rows || panel.columns != first.columns) return;
  }
  const auto add = [&](const std::string& name, const std::vector<std::string>& labels) {
    std::string text = name + ":";
    for (const std::string& label : visible(labels)) text += " " + label;
    if (const Lines all = wrapped(text, screen.width); !labels.empty() && all.size() <= kMostLines) {
      add_caption(lines, text, screen);
    }
  };
  if (first.rows == first.columns) return add(grid.y_label + " and " + grid.x_label, first.rows);
  add(grid.y_label, first.rows);
  add(grid.x_label, first.columns);
}

// The heads of a layer side by side, as large as the width allows.
class Thumbnails {
 public:
  Thumbnails(const Overview& figure, int width, const Brush& brush)
      : figure_(figure), brush_(brush), gutter_(static_cast<int>(std::to_string(figure.layers - 1).size()) + 1) {
    constexpr std::int64_t kLargest = 17;
    const std::int64_t room = width - gutter_;
    const std::int64_t pitch = std::min(room / figure.heads, kLargest);
    gap_ = pitch > 2 ? 1 : 0;
    side_ = static_cast<int>(std::max<std::int64_t>(1, pitch - gap_));
    shown_ = std::min(figure.heads, room);
    // In colour, an odd number of half lines, so that the last one is a gap; otherwise characters are twice as high as
    // wide.
    high_ = brush.coloured() ? (side_ - 1) | 1 : (side_ + 1) / 2;
  }

  // The numbers of the heads; empty if there is no room.
  [[nodiscard]] std::string names() const {
    std::string line;
    if (gap_ == 0) return line;
    for (std::int64_t head = 0; head < shown_; ++head)
      line += (head == 0 ? repeat(" ", gutter_) : " ") + fitted(std::to_string(head), side_);
    return line;
  }

  void add(Lines& lines, std::int64_t layer, const Shader& shader) const {
    std::vector<Lines> heads;
    for (std::int64_t head = 0; head < shown_; ++head) {
      const nn::Matrix& cells = figure_.cells[static_cast<std::size_t>(layer * figure_.heads + head)];
      const nn::Matrix small = largest(cells, high_, side_);
      const int zoom =
          brush_.coloured()
              ? std::max(1, std::min(high_ / static_cast<int>(small.rows()), side_ / static_cast<int>(small.columns())))
              : 1;
      heads.push_back(raster(shades_of(small, shader, is_diverging(figure_.shade.cmap)), zoom, brush_));
      for (std::string& line : heads.back()) line += repeat(" ", side_ - zoom * static_cast<int>(small.columns()));
    }
    for (std::size_t n = 0; n < heads[0].size(); ++n) {
      std::string line = fitted(n == 0 ? std::to_string(layer) : "", gutter_ - 1, true) + " ";
      for (std::size_t head = 0; head < heads.size(); ++head)
        line += (head == 0 ? "" : repeat(" ", gap_)) + heads[head][n];
      lines.push_back(std::move(line));
    }
    if (!brush_.coloured() && gap_ > 0) lines.emplace_back();
  }

  // Notes for the caption.
  [[nodiscard]] std::string note() const {
    const nn::Matrix& first = figure_.cells.front();
    const bool reduced = first.columns() > side_ || first.rows() > high_;
    const std::string all = reduced ? "Here each square is the largest of its part." : "";
    const std::int64_t left = figure_.heads - shown_;
    return left == 0 ? all : joined({all, std::to_string(left) + " more heads are not shown."});
  }

 private:
  const Overview& figure_;
  Brush brush_;
  int gutter_, side_ = 1, high_ = 1, gap_ = 0;
  std::int64_t shown_ = 1;
};

}  // namespace

Lines lines_of(const Grid& figure, const Screen& screen) {
  Lines lines;
  const Brush brush(screen.colours);
  const Shader shader(figure.shade, numbers_in_grid(figure));
  const GridPlaces places = places_for(figure, screen.width);
  std::string caption = figure.caption;
  add_title(lines, figure.title, screen);
  add_axes(lines, figure.y_label, figure.x_label, screen);
  for (std::size_t first = 0; first < figure.panels.size(); first += static_cast<std::size_t>(places.across)) {
    std::vector<PanelLines> blocks;
    const std::size_t end = std::min(figure.panels.size(), first + static_cast<std::size_t>(places.across));
    for (std::size_t p = first; p < end; ++p) {
      const Heatmap& panel = figure.panels[p];
      const nn::Matrix small = largest(panel.cells, places.cells, places.cells);
      if (p == 0 && (small.rows() < panel.cells.rows() || small.columns() < panel.cells.columns())) {
        caption = joined({caption, here_largest_of(panel.cells, small)});
      }
      const Shades shades = shades_of(small, shader, is_diverging(figure.shade.cmap));
      blocks.push_back(panel_lines(visible({panel.title})[0], shades, places.cells, brush));
    }
    if (first > 0) lines.emplace_back();
    add_beside(lines, blocks);
  }
  add_tokens(lines, figure, screen);
  add_bar(lines, shader, figure.shade, figure.bar_label, screen);
  add_caption(lines, caption, screen);
  return lines;
}

Lines lines_of(const Overview& figure, const Screen& screen) {
  Lines lines;
  const Brush brush(screen.colours);
  Range numbers = figure::numbers_in(figure.cells.front());
  for (const nn::Matrix& cells : figure.cells) numbers = united(numbers, figure::numbers_in(cells));
  const Shader shader(figure.shade, numbers);
  const Thumbnails thumbnails(figure, screen.width, brush);
  add_title(lines, figure.title, screen);
  add_axes(lines, "layer", "head", screen);
  if (const std::string names = thumbnails.names(); !names.empty()) lines.push_back(brush.dim(names));
  for (std::int64_t layer = 0; layer < figure.layers; ++layer) thumbnails.add(lines, layer, shader);
  add_bar(lines, shader, figure.shade, figure.bar_label, screen);
  add_caption(lines, joined({figure.caption, thumbnails.note()}), screen);
  return lines;
}

}  // namespace attn::figure::screen
