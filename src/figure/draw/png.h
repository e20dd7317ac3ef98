// figure/draw/png.h - PNG files, by libspng.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "figure/scene/scene.h"

namespace attn::figure {

// One byte a dot and a palette; every cell is `across` x `down` dots.
std::string palette_png(const Tiles& tiles, std::int64_t across, std::int64_t down);

struct RgbPicture {
  std::uint32_t width = 0, height = 0;
  double dpi = 72;
  std::function<void(std::uint32_t y, std::uint8_t* rgb)> row;  // writes 3 width bytes; asked for from the top down
};
std::string rgb_png(const RgbPicture& picture);

}  // namespace attn::figure
