#include "insight/map_tile.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "insight/each_head.h"
#include "insight/tiles.h"

namespace attn::insight {

namespace {

// Tiles of `level` that it takes for `count` rows or columns.
std::int64_t tiles_of(std::int64_t count, std::int64_t level) {
  const std::int64_t side = kMapTile << level;
  return (count + side - 1) / side;
}

TableWindow window_of(const Stack& all, const MapPlace& place) {
  need_index("level", place.level, std::bit_width(static_cast<std::uint64_t>(std::max(all.queries, all.keys) - 1)) + 1);
  need_index("row", place.row, tiles_of(all.queries, place.level));
  need_index("column", place.column, tiles_of(all.keys, place.level));
  const std::int64_t side = kMapTile << place.level;
  const std::int64_t row = place.row * side, column = place.column * side;
  return {row, std::min(side, all.queries - row), column, std::min(side, all.keys - column)};
}

// Of the cells that `window` is.
Shape<2> shape_of(const TableWindow& window, std::int64_t level) {
  return {((window.rows - 1) >> level) + 1, ((window.columns - 1) >> level) + 1};
}

}  // namespace

void raise_to(std::span<float> numbers, const float* row) {
  for (std::size_t j = 0; j < numbers.size(); ++j) numbers[j] = row[j] > numbers[j] ? row[j] : numbers[j];
}

Shape<2> map_tile_shape(const Stack& stack, const MapPlace& place) {
  return shape_of(window_of(stack, place), place.level);
}

nn::Matrix map_tile(const Specimen& specimen, const HeadName& head, const MapPlace& place, ThreadPool& pool) {
  specimen.check(head);
  const TableWindow window = window_of(specimen.stack(head.kind), place);
  const auto [rows, columns] = shape_of(window, place.level);
  nn::Matrix out(rows, columns);
  std::fill_n(out.data(), rows * columns, 0.0F);
  // Bands of queries that share no cell: some for each thread, but not more than needed, as each packs its keys.
  const std::int64_t least = window.rows > 4 * kTileQueries ? kTileQueries : kTileQueries / 4;
  const std::int64_t band = std::max(std::int64_t{1} << place.level, least);
  each_head((window.rows + band - 1) / band, {}, pool, [&](std::int64_t n) {
    const std::int64_t row = window.row + n * band;
    const TableWindow part{row, std::min(band, window.row + window.rows - row), window.column, window.columns};
    each_tile(specimen, head, part, [&](Rectangle at, View<const float, 2> tile) {
      // As in a picture: rows of one cell first.
      std::vector<float> highest(static_cast<std::size_t>(tile.shape[1]));
      const std::int64_t top = at.row - window.row, left = at.col - window.column;
      for (std::int64_t i = 0, next = 0; i < tile.shape[0]; i = next) {
        const std::int64_t cell_row = (top + i) >> place.level;
        std::copy_n(tile.at(i), tile.shape[1], highest.data());
        for (next = i + 1; next < tile.shape[0] && (top + next) >> place.level == cell_row; ++next)
          raise_to(highest, tile.at(next));
        float* const to = out.row(cell_row);
        for (std::int64_t j = 0; j < tile.shape[1]; ++j) {
          float& cell = to[(left + j) >> place.level];
          cell = std::max(cell, highest[static_cast<std::size_t>(j)]);
        }
      }
    });
  });
  return out;
}

}  // namespace attn::insight
