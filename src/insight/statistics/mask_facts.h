// insight/statistics/mask_facts.h - what a mask does to a problem of some size: pairs, pictures, the engine's tiles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/mask.h"
#include "nn/infer/matrix.h"

namespace attn::insight {

// The tiles that attention is computed in. None of a skipped one is ever looked at; a full one needs no mask.
struct MaskTiles {
  std::int64_t down = 0, across = 0;
  std::int64_t full = 0, partial = 0, skipped = 0;
  std::optional<std::string> covers;  // '0' none, '1' some, '2' all, row by row; absent: more than 65,536
};

struct MaskFacts {
  std::string text;  // as the mask itself writes it
  std::int64_t queries = 0, keys = 0;
  std::int64_t pairs = 0;  // that may be seen
  MaskTiles tiles;
};

// Throws std::invalid_argument where the mask does not fit.
MaskFacts mask_facts(const Mask& mask, std::int64_t queries, std::int64_t keys);

// [queries, keys]: true: may be seen.
std::vector<bool> seen_pairs(const Mask& mask, std::int64_t queries, std::int64_t keys);

// At most `most` cells a side, as those of a picture (insight/blocks/picture.h): the share of a cell's pairs that may
// be seen.
nn::Matrix mask_picture(const Mask& mask, std::int64_t queries, std::int64_t keys, std::int64_t most);

}  // namespace attn::insight
