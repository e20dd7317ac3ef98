// figure/draw/draw.h - a scene as the bytes of a file.
#pragma once

#include <string>

#include "figure/scene/scene.h"

namespace attn::figure {

// The same scene gives the same bytes. Each throws std::invalid_argument for a picture that is too large for its
// format.
std::string draw_png(const Scene& scene, double dpi);
std::string draw_pdf(const Scene& scene);
std::string draw_svg(const Scene& scene);

}  // namespace attn::figure
