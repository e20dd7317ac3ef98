// figure/draw/png_read.h - PNG files as numbers.
#pragma once

#include <filesystem>

#include "nn/infer/matrix.h"

namespace attn::figure {

// How bright each pixel is, 0 to 1 (Rec. 709 weights of red, green and blue as they stand in the file; what is
// transparent is dark). Throws attn::Error for a file that is no PNG or is larger than 4096 x 4096.
nn::Matrix read_brightness(const std::filesystem::path& file);

}  // namespace attn::figure
