#include "insight/statistics/mask_facts.h"

#include <algorithm>
#include <bit>

#include "attn/tile_plan.h"
#include "insight/blocks/picture.h"

namespace attn::insight {

namespace {

constexpr std::int64_t kMostTiles = 65'536;  // listed one by one; about 7,000 tokens

// The lowest `count` bits.
std::uint64_t lowest(std::int64_t count) { return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1; }

MaskTiles mask_tiles(const TilePlan& plan) {
  const Extent& size = plan.extent();
  MaskTiles tiles{.down = (size.queries + kTileRows - 1) / kTileRows,
                  .across = (size.keys + kTileKeys - 1) / kTileKeys,
                  .full = plan.full_tiles(),
                  .partial = plan.partial_tiles(),
                  .skipped = plan.skipped_tiles(),
                  .covers = std::nullopt};
  if (tiles.down * tiles.across > kMostTiles) return tiles;
  std::string covers(static_cast<std::size_t>(tiles.down * tiles.across), '0');
  for (std::int64_t t = 0; t < tiles.down; ++t) {
    const auto row = covers.begin() + t * tiles.across;
    plan.visit_row(0, 0, t, [&](std::int32_t first, std::int32_t last, const std::uint64_t* bits) {
      std::fill(row + first, row + last, bits == nullptr ? '2' : '1');
    });
  }
  tiles.covers = std::move(covers);
  return tiles;
}

}  // namespace

MaskFacts mask_facts(const Mask& mask, std::int64_t queries, std::int64_t keys) {
  const TilePlan plan(mask, {1, 1, queries, keys});
  return {mask.text(), queries, keys, plan.pairs(), mask_tiles(plan)};
}

std::vector<bool> seen_pairs(const Mask& mask, std::int64_t queries, std::int64_t keys) {
  std::vector<bool> seen;
  seen.reserve(static_cast<std::size_t>(queries * keys));
  for (std::int64_t i = 0; i < queries; ++i)
    for (std::int64_t j = 0; j < keys; ++j) seen.push_back(mask.allows(0, 0, i, j));
  return seen;
}

nn::Matrix mask_picture(const Mask& mask, std::int64_t queries, std::int64_t keys, std::int64_t most) {
  const std::int64_t rows = std::min(most, queries), columns = std::min(most, keys);
  nn::Matrix cells(rows, columns);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(columns));
  for (std::int64_t r = 0; r < rows; ++r) {
    std::ranges::fill(counts, 0);
    const std::int64_t top = cell_start(r, rows, queries), below = cell_start(r + 1, rows, queries);
    for (std::int64_t i = top; i < below; ++i) {
      std::int64_t c = 0;  // the cell of the next key
      for (std::int64_t j = 0; j < keys; j += 64) {
        std::uint64_t left = mask.row(0, 0, i, j) & lowest(keys - j);
        while (left != 0) {
          while (cell_start(c + 1, columns, keys) <= j + std::countr_zero(left)) ++c;
          const std::uint64_t inside = left & lowest(cell_start(c + 1, columns, keys) - j);
          counts[static_cast<std::size_t>(c)] += std::popcount(inside);
          left &= ~inside;
        }
      }
    }
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t width = cell_start(c + 1, columns, keys) - cell_start(c, columns, keys);
      cells.row(r)[c] =
          static_cast<float>(counts[static_cast<std::size_t>(c)]) / static_cast<float>((below - top) * width);
    }
  }
  return cells;
}

}  // namespace attn::insight
