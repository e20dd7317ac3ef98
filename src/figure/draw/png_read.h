// figure/draw/png_read.h - reads PNG files as numbers.
#pragma once

#include <filesystem>

#include "nn/infer/matrix.h"

namespace attn::figure {

// The brightness of each pixel, 0 to 1: Rec. 709 weights of the stored red, green and blue; transparent pixels are
// dark. Throws attn::Error for a file that is not a PNG or is larger than 4096 x 4096.
nn::Matrix read_brightness(const std::filesystem::path& file);

}  // namespace attn::figure
