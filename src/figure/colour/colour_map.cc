#include "figure/colour/colour_map.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "figure/colour/colour_tables.h"

namespace attn::figure {

namespace {

ColourMap decoded(std::string_view steps) {
  const auto byte = [&](std::size_t at) {
    std::uint8_t value = 0;
    std::from_chars(steps.data() + at, steps.data() + at + 2, value, 16);
    return value;
  };
  ColourMap map;
  for (std::size_t i = 0; i < map.size(); ++i) map[i] = {byte(6 * i), byte(6 * i + 2), byte(6 * i + 4)};
  return map;
}

constexpr std::array<std::string_view, 6> kNames = {"viridis", "magma", "cividis", "YlOrRd", "Blues", "RdBu"};

std::array<ColourMap, kNames.size()> decode_all() {
  std::array<ColourMap, kNames.size()> maps;
  for (std::size_t m = 0; m < maps.size(); ++m) maps[m] = decoded(kColourTables[m].steps);
  return maps;
}

// Relative luminance, as WCAG 2 defines it.
double luminance(const Colour& colour) {
  const auto linear = [](std::uint8_t byte) {
    const double value = byte / 255.0;
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(colour.r) + 0.7152 * linear(colour.g) + 0.0722 * linear(colour.b);
}

// 18 hues of OKLCH (Ottosson, 2020), 20 degrees apart, lightness 0.56 and 0.66 in turn, chroma 0.19 or as much as sRGB
// allows. Each differs as much as possible from those before it, the most recent counting more: neighbours are at least
// 0.12 apart in OKLab, any two at least 0.07.
constexpr std::array<Colour, 18> kHues = {{{0x01, 0x72, 0xdc},
                                           {0xef, 0x5b, 0x36},
                                           {0x01, 0xae, 0x64},
                                           {0xbd, 0x67, 0xe0},
                                           {0x8a, 0x73, 0x00},
                                           {0x00, 0x9e, 0xdb},
                                           {0xcb, 0x30, 0x4f},
                                           {0x80, 0x54, 0xd6},
                                           {0x03, 0x88, 0x71},
                                           {0xc3, 0x84, 0x01},
                                           {0xb3, 0x3c, 0xa0},
                                           {0x74, 0x84, 0xff},
                                           {0x46, 0x88, 0x01},
                                           {0xe6, 0x55, 0x98},
                                           {0x05, 0xa7, 0xa7},
                                           {0xb0, 0x5a, 0x02},
                                           {0x90, 0x9c, 0x03},
                                           {0x05, 0x82, 0x98}}};

}  // namespace

const ColourMap& colour_map(std::string_view name) {
  static const std::array<ColourMap, kNames.size()> kMaps = decode_all();
  const auto found = std::ranges::find(kNames, name);
  if (found != kNames.end()) return kMaps[static_cast<std::size_t>(found - kNames.begin())];
  std::string all;
  for (const std::string_view known : kNames) all += (all.empty() ? "" : ", ") + std::string(known);
  throw std::invalid_argument("there is no colour map '" + std::string(name) + "'; choose from " + all);
}

std::span<const std::string_view> colour_map_names() noexcept { return kNames; }

bool is_diverging(std::string_view name) noexcept { return name == "RdBu"; }

HeadStyle head_style(std::int64_t number) noexcept {
  const auto place = static_cast<std::size_t>(std::max<std::int64_t>(number, 0));
  return {kHues[place % kHues.size()], static_cast<int>(place / kHues.size())};
}

Colour ink_on(const Colour& background) noexcept {
  constexpr double kMiddle = 0.1791;  // black and white have equal contrast on this luminance
  return luminance(background) > kMiddle ? Colour{0, 0, 0} : Colour{0xff, 0xff, 0xff};
}

}  // namespace attn::figure
