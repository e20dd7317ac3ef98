// figure/colour/colour_map.h - the published colour maps.
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
// matplotlib's RdBu_r). Throws std::invalid_argument that names them all.
const ColourMap& colour_map(std::string_view name);
std::span<const std::string_view> colour_map_names() noexcept;
bool is_diverging(std::string_view name) noexcept;

// The colour of a head's lines, and how they are dashed: at least 16 hues of about equal lightness, in an order in
// which neighbours differ most; beyond those the hues come again with another dash.
struct HeadStyle {
  Colour colour;
  int dash = 0;  // 0: solid
};
HeadStyle head_style(std::int64_t number) noexcept;

// What can be read on a ground of this colour.
Colour ink_on(const Colour& ground) noexcept;

}  // namespace attn::figure
