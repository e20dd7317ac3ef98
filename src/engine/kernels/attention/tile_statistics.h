// engine/kernels/attention/tile_statistics.h - sums over a block of attention weights: mass, entropy, distance per row,
// attention received per column.
#pragma once

#include <cstdint>

#include "engine/kernels/rows/row_ops.h"

namespace attn::kernels {

// Sums of row i over the keys j of the block.
struct RowStatistics {
  double mass = 0;      // sum p
  double entropy = 0;   // -sum p log p, in nats; 0 where p is 0
  double distance = 0;  // sum p |i - j|
  double beyond = 0;    // sum p where |i - j| > TileStatistics::beyond
};

// Adds the sums of one block of weights to by_row and received. Weights below 2^-126 count as 0; a NaN makes the sums
// of its row and its column NaN. Sums are in float over at most 512 columns and over `rows` rows; these are added in
// double. The error of the logarithm is below 1.5e-7 (1 + |log p|). Positions are exact up to 2^24.
struct TileStatistics {
  InRows weights;
  std::int64_t rows = 0, columns = 0;
  std::int64_t query = 0, key = 0;  // positions of the first row and column
  std::int64_t beyond = 0;          // the distance for RowStatistics::beyond
  RowStatistics* by_row = nullptr;  // [rows]: added to
  double* received = nullptr;       // [columns], sum over rows: added to
};
void tile_statistics(const TileStatistics& task) noexcept;

}  // namespace attn::kernels
