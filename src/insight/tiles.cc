#include "insight/tiles.h"

#include <algorithm>

namespace attn::insight {

void each_tile(const Specimen& specimen, const HeadName& head, const TakeTile& take) {
  each_tile(specimen, head, 0, specimen.stack(head.kind).queries, take);
}

void each_tile(const Specimen& specimen, const HeadName& head, std::int64_t first, std::int64_t count,
               const TakeTile& take) {
  const Stack& all = specimen.stack(head.kind);
  const std::int64_t end = first + count;
  ThreadPool alone(1);
  nn::Matrix memory(std::min(kTileQueries, count), std::min(kTileColumns, all.keys));
  for (std::int64_t row = first; row < end; row += kTileQueries) {
    const std::int64_t rows = std::min(kTileQueries, end - row);
    for (std::int64_t col = 0; col < all.keys; col += kTileColumns) {
      const std::int64_t columns = std::min(kTileColumns, all.keys - col);
      if (specimen.cover(head, {0, head.head, row, row + rows, col, col + columns}) == Cover::none) continue;
      const View<float, 2> tile{memory.data(), {rows, columns}, {memory.columns(), 1}};
      specimen.weights(head, {row, col}, tile, alone);
      take({row, col}, tile);
    }
  }
}

}  // namespace attn::insight
