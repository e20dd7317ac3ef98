// Masks: text and back gives the same mask, and the compiled tiles have exactly the pairs that the rule allows.
#include <cstdint>
#include <vector>

#include "attn/mask.h"
#include "attn/tile_plan.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace attn::fuzz {

namespace {

constexpr Extent kExtent{.batch = 2, .heads = 2, .queries = 30, .keys = 150};

// [N][M] for one head.
std::vector<char> pairs_of(const Mask& mask, std::int64_t b, std::int64_t h) {
  std::vector<char> pairs;
  for (std::int64_t i = 0; i < kExtent.queries; ++i) {
    for (std::int64_t j = 0; j < kExtent.keys; ++j) pairs.push_back(mask.allows(b, h, i, j) ? 1 : 0);
  }
  return pairs;
}

std::vector<char> pairs_of(const TilePlan& plan, std::int64_t b, std::int64_t h) {
  std::vector<char> pairs(static_cast<std::size_t>(kExtent.queries * kExtent.keys));
  for (std::int64_t i = 0; i < kExtent.queries; ++i) {
    plan.visit_row(b, h, i / kTileRows, [&](std::int32_t first, std::int32_t last, const std::uint64_t* bits) {
      for (std::int64_t j = first * kTileKeys; j < last * kTileKeys && j < kExtent.keys; ++j) {
        const bool seen = bits == nullptr || ((bits[i % kTileRows] >> (j % kTileKeys)) & 1) != 0;
        if (seen) ++pairs[static_cast<std::size_t>(i * kExtent.keys + j)];
      }
    });
  }
  return pairs;
}

void check_mask(const Mask& mask) {
  const Mask again = parse_mask(mask.text());
  require(again.text() == mask.text(), "the text of a mask stays the same when it is parsed and written again");
  mask.check(kExtent);
  const TilePlan plan(mask, kExtent);
  for (std::int64_t b = 0; b < kExtent.batch; ++b) {
    for (std::int64_t h = 0; h < kExtent.heads; ++h) {
      const std::vector<char> pairs = pairs_of(mask, b, h);
      require(pairs_of(again, b, h) == pairs, "a mask that was written and parsed allows the same pairs");
      require(pairs_of(plan, b, h) == pairs, "the compiled tiles have exactly the pairs of the mask");
    }
  }
}

}  // namespace

void fuzz_mask(std::string_view input) {
  documented([&] { check_mask(parse_mask(input)); });
}

}  // namespace attn::fuzz
