// figure/scene/check.h - checks that a figure can be drawn.
#pragma once

#include "figure/scene/figure.h"

namespace attn::figure {

// Throws std::invalid_argument as documented at draw().
void check(const Figure& figure);

// The number of columns of a grid of `panels`: as it requests, else 2 x 4 for 8, else as square as possible with few
// empty places.
std::int64_t columns_of(const Grid& grid);

}  // namespace attn::figure
