#include "figure/draw/png_read.h"

#include <spng.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attn/error.h"
#include "base/read_file.h"

namespace attn::figure {

namespace {

constexpr std::uint32_t kMostPixels = 4096;  // in each direction

}  // namespace

nn::Matrix read_brightness(const std::filesystem::path& file) {
  const std::string bytes = base::read_file(file);
  const std::unique_ptr<spng_ctx, decltype(&spng_ctx_free)> png(spng_ctx_new(0), &spng_ctx_free);
  const auto need = [&](int result) {
    if (result != 0) throw Error(file.string(), std::string("is not a readable PNG file: ") + spng_strerror(result));
  };
  if (!png) throw std::bad_alloc();
  need(spng_set_image_limits(png.get(), kMostPixels, kMostPixels));
  need(spng_set_png_buffer(png.get(), bytes.data(), bytes.size()));
  spng_ihdr header{};
  need(spng_get_ihdr(png.get(), &header));
  std::size_t size = 0;
  need(spng_decoded_image_size(png.get(), SPNG_FMT_RGBA8, &size));
  std::vector<std::uint8_t> pixels(size);
  need(spng_decode_image(png.get(), pixels.data(), size, SPNG_FMT_RGBA8, SPNG_DECODE_TRNS));
  nn::Matrix out(header.height, header.width);
  for (std::int64_t n = 0; n < out.rows() * out.columns(); ++n) {
    const std::uint8_t* const p = pixels.data() + 4 * n;
    const float light = 0.2126F * p[0] + 0.7152F * p[1] + 0.0722F * p[2];
    out.data()[n] = light / 255 * (static_cast<float>(p[3]) / 255);
  }
  return out;
}

}  // namespace attn::figure
