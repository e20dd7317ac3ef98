// insight/blocks/map_tile.h - a head's table as a map: square tiles, each level half as fine as the one below it.
#pragma once

#include <cstdint>
#include <span>

#include "attn/thread_pool.h"
#include "insight/tables/attention_tables.h"
#include "nn/infer/matrix.h"

namespace attn::insight {

inline constexpr std::int64_t kMapTile = 256;  // cells a side

struct MapPlace {
  std::int64_t level = 0, row = 0, column = 0;  // row and column count tiles of this level
};

// Cell (r, c) of the tile is the largest weight of the queries [(256 row + r) 2^level, + 2^level) and the keys
// likewise; a number below 0 counts as 0. Of differences it is the one that is farthest from 0, and NaN where all are.
// Tiles at the right and lower edge are smaller. Throws std::invalid_argument for a place that is not on the map: the
// highest level is that on which the table is one cell.
Shape<2> map_tile_shape(const AttentionStack& stack, const MapPlace& place);
nn::Matrix map_tile(const AttentionTables& tables, const HeadId& head, const MapPlace& place, ThreadPool& pool);

// The largest number of a head's table, or 0.
float largest_number(const AttentionTables& tables, const HeadId& head, ThreadPool& pool);

// What a cell shows of two numbers. NaN is nothing: the other one is shown.
struct Larger {
  float operator()(float a, float b) const noexcept { return b > a ? b : a; }
};
struct Farther {
  float operator()(float a, float b) const noexcept { return (b < 0 ? -b : b) > (a < 0 ? -a : a) || a != a ? b : a; }
};

// Each number becomes what `show` says of itself and its place in `row`.
template <typename Show>
void show_both(std::span<float> numbers, const float* row, Show show) {
  for (std::size_t j = 0; j < numbers.size(); ++j) numbers[j] = show(numbers[j], row[j]);
}

}  // namespace attn::insight
