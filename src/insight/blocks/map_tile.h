// insight/blocks/map_tile.h - a head's table as a zoomable map: square map tiles, each level half as fine as the one
// below it.
#pragma once

#include <cstdint>

#include "attn/thread_pool.h"
#include "insight/tables/attention_tables.h"
#include "nn/infer/matrix.h"

namespace attn::insight {

inline constexpr std::int64_t kMapTile = 256;  // cells per side

struct MapPlace {
  std::int64_t level = 0, row = 0, column = 0;  // row and column count map tiles of this level
};

// Cell (r, c) of a map tile is the largest weight of the queries [(256 row + r) 2^level, + 2^level) and the keys
// likewise; negative numbers count as 0. For tables of differences it is the number farthest from 0, or NaN if all are
// NaN. Map tiles at the right and lower edges are smaller. The highest level is the one on which the table is one cell;
// throws std::invalid_argument for a place outside the map.
Shape<2> map_tile_shape(const AttentionStack& stack, const MapPlace& place);
nn::Matrix map_tile(const AttentionTables& tables, const HeadId& head, const MapPlace& place, ThreadPool& pool);

// The largest number of a head's table; 0 if none is positive.
float largest_number(const AttentionTables& tables, const HeadId& head, ThreadPool& pool);

}  // namespace attn::insight
