// figure/scene/check.h - whether a figure can be drawn.
#pragma once

#include "figure/scene/figure.h"

namespace attn::figure {

// Throws the std::invalid_argument that draw() promises.
void check(const Figure& figure);

// Columns of a grid of `panels`: as it asks, or 2 x 4 for 8 and else as square as possible with few empty places.
std::int64_t columns_of(const Grid& grid);

}  // namespace attn::figure
