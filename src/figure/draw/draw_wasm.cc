// figure/draw/draw_wasm.cc - pictures of pixels are left to the browser, which draws the SVG on a canvas.
#include <attn_wasm.h>

#include <stdexcept>
#include <vector>

#include "figure/draw/draw.h"
#include "figure/draw/png.h"

namespace attn::figure {

std::string draw_png(const Scene&, double) { throw std::invalid_argument("only SVG can be drawn here"); }
std::string draw_pdf(const Scene&) { throw std::invalid_argument("only SVG can be drawn here"); }

std::string palette_png(const Tiles& tiles, std::int64_t across, std::int64_t down) {
  std::vector<std::uint8_t> palette, pixels;
  for (const Colour& colour : tiles.palette) palette.insert(palette.end(), {colour.r, colour.g, colour.b});
  const std::int64_t width = tiles.columns * across, height = tiles.rows * down;
  pixels.reserve(static_cast<std::size_t>(width * height));
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      pixels.push_back(tiles.steps[static_cast<std::size_t>(y / down * tiles.columns + x / across)]);
  const AttnBytes png = attn_palette_png(static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height),
                                         palette.data(), tiles.palette.size(), pixels.data());
  std::string bytes(reinterpret_cast<const char*>(png.data), png.size);
  attn_bytes_free(png);
  if (bytes.empty()) throw std::invalid_argument("the picture is too large");
  return bytes;
}

}  // namespace attn::figure
