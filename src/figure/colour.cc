#include "figure/colour.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "figure/colour_tables.h"

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

}  // namespace

const ColourMap& colour_map(std::string_view name) {
  static const std::array<ColourMap, kNames.size()> kMaps = decode_all();
  const auto found = std::ranges::find(kNames, name);
  if (found != kNames.end()) return kMaps[static_cast<std::size_t>(found - kNames.begin())];
  std::string all;
  for (const std::string_view known : kNames) all += (all.empty() ? "" : ", ") + std::string(known);
  throw std::invalid_argument("there is no colour map '" + std::string(name) + "'; known are: " + all);
}

std::span<const std::string_view> colour_map_names() noexcept { return kNames; }

bool is_diverging(std::string_view name) noexcept { return name == "RdBu"; }

Colour ink_on(const Colour& ground) noexcept {
  constexpr double kMiddle = 0.1791;  // black and white have the same contrast on it
  return luminance(ground) > kMiddle ? Colour{0x1a, 0x1a, 0x1a} : Colour{0xff, 0xff, 0xff};
}

}  // namespace attn::figure
