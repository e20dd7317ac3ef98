// figure/colour/colour_tables.h - the colour maps as text: six hexadecimal digits per step.
#pragma once

#include <array>
#include <string_view>

namespace attn::figure {

struct ColourTable {
  std::string_view name;
  std::string_view steps;  // 256 times rrggbb
};

extern const std::array<ColourTable, 6> kColourTables;

}  // namespace attn::figure
