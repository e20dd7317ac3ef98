// figure/draw/draw.h - draws a scene to the bytes of a file.
#pragma once

#include <string>

#include "figure/scene/scene.h"

namespace attn::figure {

// Deterministic: the same scene gives the same bytes. Throw std::invalid_argument if the picture is too large for the
// format.
std::string draw_png(const Scene& scene, double dpi);
std::string draw_pdf(const Scene& scene);
std::string draw_svg(const Scene& scene);

}  // namespace attn::figure
