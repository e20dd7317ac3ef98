// figure/colour/colour_map.h - published colour maps, and the colours of heads.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace attn::figure {

struct Colour {
  std::uint8_t r = 0, g = 0, b = 0;

  friend bool operator==(const Colour&, const Colour&) = default;
};

// 256 steps from the lowest to the highest.
using ColourMap = std::array<Colour, 256>;

// viridis, magma, cividis (matplotlib), YlOrRd, Blues and, for differences, RdBu (ColorBrewer; here blue is low, as
// matplotlib's RdBu_r). Throws std::invalid_argument that lists them for any other name.
const ColourMap& colour_map(std::string_view name);
std::span<const std::string_view> colour_map_names() noexcept;
bool is_diverging(std::string_view name) noexcept;

// The colour and dash of a head's lines: at least 16 hues of similar lightness, ordered so that neighbours differ most;
// after the last one the hues repeat with another dash.
struct HeadStyle {
  Colour colour;
  int dash = 0;  // 0: solid
};
HeadStyle head_style(std::int64_t number) noexcept;

// Black or white, whichever is more legible on this background.
Colour ink_on(const Colour& background) noexcept;

}  // namespace attn::figure
