// figure/scene/reduce.h - shrinks tables, and describes in words how.
#pragma once

#include <cstdint>
#include <string>

#include "attn/view.h"
#include "nn/infer/matrix.h"

namespace attn::figure {

// How many rows and columns of the table a cell covers: "8 x 8", or "7 or 8 x 8" if cells are uneven. Cell c of
// C covers the rows [c N / C, (c + 1) N / C) of N.
std::string part_sizes(Shape<2> table, Shape<2> cells);

// Shrinks a table to at most rows x columns cells; each keeps the number of its part that is farthest from 0.
nn::Matrix largest(const nn::Matrix& cells, std::int64_t rows, std::int64_t columns);

}  // namespace attn::figure
