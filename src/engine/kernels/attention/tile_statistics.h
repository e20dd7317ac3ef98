// engine/kernels/attention/tile_statistics.h - one look at a tile of attention weights: what can be said of it by
// adding up.
#pragma once

#include <cstdint>

#include "engine/kernels/rows/row_ops.h"

namespace attn::kernels {

// Of row i, over the keys j of the tile.
struct RowStatistics {
  double mass = 0;      // sum p
  double entropy = 0;   // -sum p log p, in nats; 0 where p is 0
  double distance = 0;  // sum p |i - j|
  double beyond = 0;    // sum p where |i - j| > TileStatistics::beyond
};

// Weights below 2^-126 count as 0; one that is not a number makes its row's and its column's sums so. Sums of a tile
// are made in float, over at most 512 columns and `rows` rows; tiles are added up in double. The logarithm's error is
// below 1.5e-7 (1 + |log p|). Positions are exact up to 2^24.
struct TileStatistics {
  InRows weights;
  std::int64_t rows = 0, columns = 0;
  std::int64_t query = 0, key = 0;  // numbers of the tile's first row and column
  std::int64_t beyond = 0;
  RowStatistics* by_row = nullptr;  // [rows]: added to
  double* received = nullptr;       // [columns], sum over rows: added to
};
void tile_statistics(const TileStatistics& task) noexcept;

}  // namespace attn::kernels
