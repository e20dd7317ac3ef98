#include "figure/draw/png.h"

#include <spng.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

namespace attn::figure {

namespace {

class Encoder {
 public:
  Encoder(const spng_ihdr& header, int level, spng_filter_choice filter) : context_(spng_ctx_new(SPNG_CTX_ENCODER)) {
    if (!context_) throw std::bad_alloc();
    spng_ihdr copy = header;
    must(spng_set_option(context_.get(), SPNG_ENCODE_TO_BUFFER, 1));
    must(spng_set_ihdr(context_.get(), &copy));
    must(spng_set_option(context_.get(), SPNG_IMG_COMPRESSION_LEVEL, level));
    must(spng_set_option(context_.get(), SPNG_FILTER_CHOICE, filter));
  }

  [[nodiscard]] spng_ctx* get() const { return context_.get(); }

  static void must(int result) {
    if (result != 0 && result != SPNG_EOI)
      throw std::runtime_error(std::string("cannot encode the PNG: ") + spng_strerror(result));
  }

  void begin() {
    must(spng_encode_image(get(), nullptr, 0, SPNG_FMT_PNG, SPNG_ENCODE_PROGRESSIVE | SPNG_ENCODE_FINALIZE));
  }
  void add(const std::vector<std::uint8_t>& row) { must(spng_encode_row(get(), row.data(), row.size())); }

  std::string take() {
    std::size_t size = 0;
    int error = 0;
    const std::unique_ptr<void, decltype(&std::free)> bytes(spng_get_png_buffer(context_.get(), &size, &error),
                                                            &std::free);
    must(error);
    return {static_cast<const char*>(bytes.get()), size};
  }

 private:
  struct Free {
    void operator()(spng_ctx* context) const noexcept { spng_ctx_free(context); }
  };
  std::unique_ptr<spng_ctx, Free> context_;
};

spng_ihdr header_of(std::uint32_t width, std::uint32_t height, spng_color_type type) {
  spng_ihdr header{};
  header.width = width;
  header.height = height;
  header.bit_depth = 8;
  header.color_type = static_cast<std::uint8_t>(type);
  return header;
}

}  // namespace

std::string palette_png(const Tiles& tiles, std::int64_t across, std::int64_t down) {
  constexpr int kLevel = 4;
  Encoder png(header_of(static_cast<std::uint32_t>(tiles.columns * across),
                        static_cast<std::uint32_t>(tiles.rows * down), SPNG_COLOR_TYPE_INDEXED),
              kLevel, SPNG_FILTER_CHOICE_NONE);
  spng_plte palette{};
  palette.n_entries = static_cast<std::uint32_t>(tiles.palette.size());
  for (std::size_t i = 0; i < tiles.palette.size(); ++i)
    palette.entries[i] = {tiles.palette[i].r, tiles.palette[i].g, tiles.palette[i].b, 255};
  Encoder::must(spng_set_plte(png.get(), &palette));
  png.begin();
  std::vector<std::uint8_t> row(static_cast<std::size_t>(tiles.columns * across));
  for (std::int64_t y = 0; y < tiles.rows * down; ++y) {
    const std::uint8_t* steps = tiles.steps.data() + y / down * tiles.columns;
    for (std::int64_t x = 0; x < tiles.columns; ++x) std::fill_n(row.begin() + x * across, across, steps[x]);
    png.add(row);
  }
  return png.take();
}

std::string rgb_png(const RgbPicture& picture) {
  // Cells are many pixels in size: the difference to the row above is mostly 0, which the fastest level packs well.
  constexpr int kLevel = 1;
  Encoder png(header_of(picture.width, picture.height, SPNG_COLOR_TYPE_TRUECOLOR), kLevel, SPNG_FILTER_CHOICE_UP);
  const auto dots_a_metre = static_cast<std::uint32_t>(std::lround(picture.dpi / 0.0254));
  spng_phys size{dots_a_metre, dots_a_metre, 1};
  Encoder::must(spng_set_phys(png.get(), &size));
  Encoder::must(spng_encode_image(png.get(), nullptr, 0, SPNG_FMT_PNG, SPNG_ENCODE_PROGRESSIVE | SPNG_ENCODE_FINALIZE));
  std::vector<std::uint8_t> row(std::size_t{3} * picture.width);
  for (std::uint32_t y = 0; y < picture.height; ++y) {
    picture.row(y, row.data());
    png.add(row);
  }
  return png.take();
}

}  // namespace attn::figure
