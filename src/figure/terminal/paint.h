// figure/terminal/paint.h - paints text with terminal colours, or with shades if there are none.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "figure/scene/figure.h"

namespace attn::figure {

// The index of the nearest of xterm's 240 fixed colours: a cube of 6 x 6 x 6, then 24 greys.
int nearest_indexed(const Colour& colour) noexcept;

// Each piece resets its style at the end. Without colours, text stays unchanged.
class Brush {
 public:
  explicit Brush(Screen::Colours colours) noexcept : colours_(colours) {}

  [[nodiscard]] bool coloured() const noexcept { return colours_ != Screen::Colours::none; }
  [[nodiscard]] std::string on(std::string_view text, const Colour& background) const;  // in legible ink
  [[nodiscard]] std::string in(std::string_view text, const Colour& ink) const;
  // `width` columns: the upper half of the line in one colour, the lower half in another.
  [[nodiscard]] std::string halves(const Colour& upper, const Colour& lower, int width) const;
  [[nodiscard]] std::string bold(std::string_view text) const { return styled("1", text); }
  [[nodiscard]] std::string dim(std::string_view text) const { return styled("2", text); }

 private:
  [[nodiscard]] std::string styled(std::string_view codes, std::string_view text) const;
  [[nodiscard]] std::string code(int what, const Colour& colour) const;

  Screen::Colours colours_;
};

// Five shades for terminals without colours. A place in the colour map at or above the n-th threshold has shade n + 1.
inline constexpr std::array<std::string_view, 5> kBlocks = {"·", "░", "▒", "▓", "█"};
inline constexpr std::array<double, 4> kBlockFrom = {0.03, 0.15, 0.35, 0.6};
std::string_view block_of(double place) noexcept;

// A bar that fills a share of `width` columns, to an eighth of a column, padded with spaces.
std::string bar_of(double share, int width);

}  // namespace attn::figure
