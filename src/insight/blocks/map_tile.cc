#include "insight/blocks/map_tile.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/parallel_for.h"
#include "insight/blocks/blocks.h"
#include "insight/blocks/shrink.h"

namespace attn::insight {

namespace {

// Number of map tiles of `level` that cover `count` rows or columns.
std::int64_t count_map_tiles(std::int64_t count, std::int64_t level) {
  const std::int64_t side = kMapTile << level;
  return (count + side - 1) / side;
}

// The level on which the whole table is one cell.
std::int64_t highest_level(const AttentionStack& all) {
  return std::bit_width(static_cast<std::uint64_t>(std::max(all.queries, all.keys) - 1));
}

TableWindow window_of(const AttentionStack& all, const MapPlace& place) {
  need_index("level", place.level, highest_level(all) + 1);
  need_index("row", place.row, count_map_tiles(all.queries, place.level));
  need_index("column", place.column, count_map_tiles(all.keys, place.level));
  const std::int64_t side = kMapTile << place.level;
  const std::int64_t row = place.row * side, column = place.column * side;
  return {row, std::min(side, all.queries - row), column, std::min(side, all.keys - column)};
}

// Rows and columns of cells in `window`.
Shape<2> window_cells(const TableWindow& window, std::int64_t level) {
  return {((window.rows - 1) >> level) + 1, ((window.columns - 1) >> level) + 1};
}

}  // namespace

Shape<2> map_tile_shape(const AttentionStack& stack, const MapPlace& place) {
  return window_cells(window_of(stack, place), place.level);
}

nn::Matrix map_tile(const AttentionTables& tables, const HeadId& head, const MapPlace& place, ThreadPool& pool) {
  tables.check(head);
  const TableWindow window = window_of(tables.stack(head.kind), place);
  const bool differences = tables.numbers() == Numbers::differences;
  const auto [rows, columns] = window_cells(window, place.level);
  nn::Matrix out(rows, columns);
  std::fill_n(out.data(), rows * columns, differences ? std::numeric_limits<float>::quiet_NaN() : 0.0F);
  // Bands of queries that share no cell: several per thread, but no more than needed, because each band packs the keys.
  const std::int64_t least = window.rows > 4 * kBlockQueries ? kBlockQueries : kBlockQueries / 4;
  const std::int64_t band = std::max(std::int64_t{1} << place.level, least);
  base::parallel_for((window.rows + band - 1) / band, {}, pool, [&](std::int64_t n) {
    const std::int64_t row = window.row + n * band;
    const TableWindow part{row, std::min(band, window.row + window.rows - row), window.column, window.columns};
    each_block(tables, head, part, [&](Rectangle at, View<const float, 2> block) {
      const auto row_cell = [&](std::int64_t i) { return (at.row - window.row + i) >> place.level; };
      const auto column_cell = [&](std::int64_t j) { return (at.col - window.column + j) >> place.level; };
      differences ? shrink_into(block, row_cell, column_cell, out, FartherNumber())
                  : shrink_into(block, row_cell, column_cell, out, LargerNumber());
    });
  });
  return out;
}

float largest_number(const AttentionTables& tables, const HeadId& head, ThreadPool& pool) {
  const AttentionStack& all = tables.stack(head.kind);
  const std::int64_t level = std::min<std::int64_t>(8, highest_level(all));  // one band of rows per thread
  float most = 0;
  for (std::int64_t row = 0; row < count_map_tiles(all.queries, level); ++row) {
    for (std::int64_t column = 0; column < count_map_tiles(all.keys, level); ++column) {
      const nn::Matrix tile = map_tile(tables, head, {level, row, column}, pool);
      most = std::max(most, *std::max_element(tile.data(), tile.data() + tile.rows() * tile.columns()));
    }
  }
  return most;
}

}  // namespace attn::insight
