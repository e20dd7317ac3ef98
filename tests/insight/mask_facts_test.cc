#include "insight/statistics/mask_facts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "attn/tile_plan.h"
#include "tests/insight/random_rows.h"

namespace attn::insight {
namespace {

constexpr const char* kMasks[] = {
    "everything", "causal",      "causal & window(3)",   "~causal", "sparse(7) | global(2)",
    "block(64)",  "padding(50)", "causal & ~window(200)"};

TEST(MaskFacts, PairsAndTilesMatchABruteForceCount) {
  for (const char* const text : kMasks) {
    for (const auto& [queries, keys] : {std::pair{1, 1}, {12, 64}, {13, 65}, {150, 100}, {97, 330}}) {
      const Mask mask = parse_mask(text);
      const MaskFacts facts = mask_facts(mask, queries, keys);
      std::int64_t pairs = 0;
      std::string covers;
      for (std::int64_t top = 0; top < queries; top += kTileRows) {
        for (std::int64_t left = 0; left < keys; left += kTileKeys) {
          std::int64_t seen = 0, all = 0;
          for (std::int64_t i = top; i < std::min<std::int64_t>(top + kTileRows, queries); ++i)
            for (std::int64_t j = left; j < std::min<std::int64_t>(left + kTileKeys, keys); ++j, ++all)
              seen += mask.allows(0, 0, i, j) ? 1 : 0;
          pairs += seen;
          covers += seen == 0 ? '0' : seen == all ? '2' : '1';
        }
      }
      EXPECT_EQ(facts.pairs, pairs) << text;
      EXPECT_EQ(facts.tiles.covers, covers) << text << " " << queries << " x " << keys;
      EXPECT_EQ(facts.tiles.full, std::ranges::count(covers, '2')) << text;
      EXPECT_EQ(facts.tiles.partial, std::ranges::count(covers, '1')) << text;
      EXPECT_EQ(facts.tiles.skipped, std::ranges::count(covers, '0')) << text;
      EXPECT_EQ(facts.text, mask.text());
    }
  }
}

TEST(MaskFacts, ACellOfThePictureIsTheShareOfAllowedPairs) {
  for (const char* const text : kMasks) {
    const Mask mask = parse_mask(text);
    const std::int64_t queries = 150, keys = 330, most = 37;
    const nn::Matrix cells = mask_picture(mask, queries, keys, most);
    ASSERT_EQ(cells.rows(), most);
    for (std::int64_t r = 0; r < most; ++r) {
      for (std::int64_t c = 0; c < most; ++c) {
        std::int64_t seen = 0, all = 0;
        for (std::int64_t i = r * queries / most; i < (r + 1) * queries / most; ++i)
          for (std::int64_t j = c * keys / most; j < (c + 1) * keys / most; ++j, ++all)
            seen += mask.allows(0, 0, i, j) ? 1 : 0;
        ASSERT_FLOAT_EQ(cells.row(r)[c], static_cast<float>(seen) / static_cast<float>(all)) << text << r << " " << c;
      }
    }
  }
}

TEST(MaskFacts, SmallMasksAreShownPairByPair) {
  const Mask mask = parse_mask("causal & window(1)");
  const std::vector<bool> seen = seen_pairs(mask, 3, 4);
  EXPECT_EQ(seen, (std::vector<bool>{true, false, false, false, true, true, false, false, false, true, true, false}));
  const nn::Matrix cells = mask_picture(mask, 3, 4, 256);
  for (std::size_t n = 0; n < 12; ++n) EXPECT_EQ(cells.data()[n], seen[n] ? 1 : 0);
}

TEST(MaskFacts, TilesOfALongTextAreOnlyCounted) {
  const MaskFacts facts = mask_facts(parse_mask("causal"), 20'000, 20'000);
  EXPECT_FALSE(facts.tiles.covers);
  EXPECT_EQ(facts.pairs, std::int64_t{20'000} * 20'001 / 2);
  EXPECT_EQ(facts.tiles.full + facts.tiles.partial + facts.tiles.skipped, facts.tiles.down * facts.tiles.across);
}

TEST(MaskFacts, RejectsAMaskThatDoesNotFit) {
  EXPECT_NE(test::refusal_of([] { mask_facts(parse_mask("document(0,0,1)"), 4, 4); }), "");
}

TEST(MaskText, AnErrorNamesItsColumn) {
  try {
    parse_mask("causal & wibble(3)");
    FAIL() << "that is no mask";
  } catch (const MaskTextError& wrong) {
    EXPECT_EQ(wrong.column, 10);
    EXPECT_NE(std::string(wrong.what()).find("column 10"), std::string::npos);
  }
}

}  // namespace
}  // namespace attn::insight
