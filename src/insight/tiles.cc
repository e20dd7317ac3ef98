#include "insight/tiles.h"

#include <algorithm>

namespace attn::insight {

void each_tile(const Specimen& specimen, const HeadName& head, const TakeTile& take) {
  const Stack& all = specimen.stack(head.kind);
  ThreadPool alone(1);
  nn::Matrix memory(std::min(kTileQueries, all.queries), std::min(kTileColumns, all.keys));
  for (std::int64_t row = 0; row < all.queries; row += kTileQueries) {
    const std::int64_t rows = std::min(kTileQueries, all.queries - row);
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
