// figure/draw/png.h - encodes PNG files with libspng.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "figure/scene/scene.h"

namespace attn::figure {

// Encodes with one byte per pixel and a palette; every cell is `across` x `down` pixels.
std::string palette_png(const Tiles& tiles, std::int64_t across, std::int64_t down);

struct RgbPicture {
  std::uint32_t width = 0, height = 0;
  double dpi = 72;
  std::function<void(std::uint32_t y, std::uint8_t* rgb)> row;  // writes 3 width bytes; called from the top down
};
std::string rgb_png(const RgbPicture& picture);

}  // namespace attn::figure
