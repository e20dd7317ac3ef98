// insight/statistics/mask_facts.h - facts about a mask at a given size: allowed pairs, a picture, the engine's tiles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/mask.h"
#include "nn/infer/matrix.h"

namespace attn::insight {

// Number of the engine's tiles. A skipped tile costs nothing; a full one needs no mask.
struct MaskTiles {
  std::int64_t down = 0, across = 0;
  std::int64_t full = 0, partial = 0, skipped = 0;
  std::optional<std::string>
      covers;  // one character per tile, row by row: '0' none, '1' some, '2' all; absent above 65,536 tiles
};

struct MaskFacts {
  std::string text;  // Mask::text()
  std::int64_t queries = 0, keys = 0;
  std::int64_t pairs = 0;  // that the mask allows
  MaskTiles tiles;
};

// Throws std::invalid_argument if the mask does not fit the size.
MaskFacts mask_facts(const Mask& mask, std::int64_t queries, std::int64_t keys);

// [queries, keys]: whether the mask allows the pair.
std::vector<bool> seen_pairs(const Mask& mask, std::int64_t queries, std::int64_t keys);

// At most `most` cells per side, laid out as in insight/blocks/picture.h: the share of a cell's pairs that the mask
// allows.
nn::Matrix mask_picture(const Mask& mask, std::int64_t queries, std::int64_t keys, std::int64_t most);

}  // namespace attn::insight
