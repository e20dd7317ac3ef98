#include "figure/terminal/paint.h"

#include <algorithm>
#include <cmath>

#include "base/whole.h"
#include "figure/terminal/columns.h"

namespace attn::figure {

namespace {

constexpr std::array<int, 6> kLevels = {0, 95, 135, 175, 215, 255};
constexpr int kForeground = 38, kBackground = 48;

int nearest_level(int value) noexcept {
  const auto nearer = [&](int a, int b) { return std::abs(a - value) < std::abs(b - value); };
  return static_cast<int>(std::ranges::min_element(kLevels, nearer) - kLevels.begin());
}

int distance(const Colour& a, int r, int g, int b) noexcept {
  return (a.r - r) * (a.r - r) + (a.g - g) * (a.g - g) + (a.b - b) * (a.b - b);
}

}  // namespace

int nearest_indexed(const Colour& c) noexcept {
  const int r = nearest_level(c.r), g = nearest_level(c.g), b = nearest_level(c.b);
  const int grey = std::clamp((c.r + c.g + c.b - 3 * 3) / 30, 0, 23);  // 8, 18, ... 238
  const int level = 8 + 10 * grey;
  const int in_cube = distance(c, kLevels[static_cast<std::size_t>(r)], kLevels[static_cast<std::size_t>(g)],
                               kLevels[static_cast<std::size_t>(b)]);
  return distance(c, level, level, level) < in_cube ? 232 + grey : 16 + 36 * r + 6 * g + b;
}

std::string Brush::code(int what, const Colour& c) const {
  const std::string start = std::to_string(what);
  if (colours_ == Screen::Colours::indexed) return start + ";5;" + std::to_string(nearest_indexed(c));
  return start + ";2;" + std::to_string(c.r) + ";" + std::to_string(c.g) + ";" + std::to_string(c.b);
}

std::string Brush::styled(std::string_view codes, std::string_view text) const {
  if (!coloured()) return std::string(text);
  return "\x1b[" + std::string(codes) + "m" + std::string(text) + "\x1b[0m";
}

std::string Brush::on(std::string_view text, const Colour& background) const {
  return styled(code(kBackground, background) + ";" + code(kForeground, ink_on(background)), text);
}

std::string Brush::in(std::string_view text, const Colour& ink) const { return styled(code(kForeground, ink), text); }

std::string Brush::halves(const Colour& upper, const Colour& lower, int width) const {
  return styled(code(kForeground, upper) + ";" + code(kBackground, lower), repeat("▀", width));
}

std::string_view block_of(double place) noexcept {
  return kBlocks[static_cast<std::size_t>(std::ranges::upper_bound(kBlockFrom, place) - kBlockFrom.begin())];
}

std::string bar_of(double share, int width) {
  constexpr std::array<std::string_view, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = base::whole<int>(std::round(std::clamp(share, 0.0, 1.0) * width * 8));
  const std::string bar = repeat("█", eighths / 8) + std::string(kEighths[static_cast<std::size_t>(eighths % 8)]);
  return fitted(bar, width);
}

}  // namespace attn::figure
