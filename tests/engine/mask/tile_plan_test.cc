// tests/engine/mask/tile_plan_test.cc - plans against the masks from which they are compiled.
#include "attn/tile_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>
#include <vector>

#include "tests/engine/mask/mask_trees.h"

namespace attn {
namespace {

using test::MaskSample;
using test::MaskTrees;

// Counts how often the plan covers each pair of one tile row: 1 for a visible pair.
std::vector<int> seen_in_row(const TilePlan& plan, std::int64_t b, std::int64_t h, std::int64_t t) {
  const Extent& e = plan.extent();
  std::vector<int> seen(kTileRows * e.keys, 0);
  plan.visit_row(b, h, t, [&](std::int32_t first, std::int32_t last, const std::uint64_t* bits) {
    const std::int64_t end = std::min(last * kTileKeys, e.keys);
    for (std::int64_t r = 0; r < kTileRows; ++r) {
      for (std::int64_t j = first * kTileKeys; j < end; ++j) {
        seen[r * e.keys + j] += bits == nullptr || ((bits[r] >> (j % kTileKeys)) & 1) != 0;
      }
    }
  });
  return seen;
}

void expect_tidy(const TilePlan& plan, std::int64_t b, std::int64_t h, std::int64_t t) {
  const Extent& e = plan.extent();
  std::int64_t end = 0;
  bool was_full = false;
  for (const TileSpan& span : plan.row(b, h, t)) {
    const bool full = span.bits == TileSpan::kFull;
    ASSERT_GE(span.first, end);
    ASSERT_GT(span.last, span.first);
    ASSERT_LE((span.last - 1) * kTileKeys, e.keys - 1);
    ASSERT_TRUE(span.bits < 0 || span.last == span.first + 1);
    ASSERT_FALSE(full && was_full && span.first == end) << "full neighbours are one span";
    if (span.bits >= 0) {
      ASSERT_LT(span.bits, plan.patterns());
      const std::int64_t keys = std::min(kTileKeys, e.keys - span.first * kTileKeys);
      for (std::int64_t r = 0; r < kTileRows; ++r) {
        const std::uint64_t word = plan.bits(span.bits)[r];
        ASSERT_TRUE(t * kTileRows + r < e.queries || word == 0) << "a row beyond N";
        ASSERT_TRUE(keys == 64 || word >> keys == 0) << "a key beyond M";
      }
    }
    end = span.last;
    was_full = full;
  }
}

void expect_plan_of(const MaskSample& sample, const Extent& e) {
  const TilePlan plan(sample.mask, e);
  std::int64_t pairs = 0;
  for (std::int64_t b = 0; b < e.batch; ++b) {
    for (std::int64_t h = 0; h < e.heads; ++h) {
      for (std::int64_t t = 0; t * kTileRows < e.queries; ++t) {
        ASSERT_NO_FATAL_FAILURE(expect_tidy(plan, b, h, t)) << sample.mask.text();
        const std::vector<int> seen = seen_in_row(plan, b, h, t);
        std::int64_t wrong = 0;
        for (std::int64_t i = t * kTileRows; i < std::min((t + 1) * kTileRows, e.queries); ++i) {
          for (std::int64_t j = 0; j < e.keys; ++j) {
            const int truth = sample.truth(b, h, i, j) ? 1 : 0;
            wrong += seen[(i - t * kTileRows) * e.keys + j] != truth;
            pairs += truth;
          }
        }
        ASSERT_EQ(wrong, 0) << sample.mask.text() << " N " << e.queries << " M " << e.keys << " row " << t;
      }
    }
  }
  ASSERT_EQ(plan.pairs(), pairs) << sample.mask.text();
  ASSERT_EQ(plan.full(), pairs == e.batch * e.heads * e.queries * e.keys) << sample.mask.text();
}

TEST(TilePlan, HasEveryPairOfTheMaskExactlyOnce) {
  MaskTrees trees(21);
  for (int kind = 0; kind < MaskTrees::kKinds; ++kind) {
    for (int k = 0; k < 20; ++k) {
      const Extent e = trees.extent(300);
      ASSERT_NO_FATAL_FAILURE(expect_plan_of(trees.rule(e, kind), e));
    }
  }
  for (int k = 0; k < 150; ++k) {
    const Extent e = trees.extent(200);
    ASSERT_NO_FATAL_FAILURE(expect_plan_of(trees.tree(e, 3), e));
  }
}

TEST(TilePlan, CountsTilesOfACausalMask) {
  const TilePlan plan(Causal{}, {2, 8, 192, 192});  // 16 x 3 tiles
  EXPECT_EQ(plan.pairs(), 16 * 192 * 193 / 2);
  EXPECT_EQ(plan.partial_tiles(), 18);  // every row its diagonal, two rows (60 to 71, 120 to 131) across a tile's edge
  EXPECT_EQ(plan.full_tiles() + plan.partial_tiles() + plan.skipped_tiles(), 48);
  EXPECT_FALSE(plan.full());
}

TEST(TilePlan, OfEverythingIsOneSpanPerRow) {
  const TilePlan plan(Mask{}, {3, 4, 100, 1000});
  EXPECT_TRUE(plan.full());
  EXPECT_EQ(plan.patterns(), 0);
  EXPECT_EQ(plan.pairs(), 3 * 4 * 100 * 1000);
  for (std::int64_t t = 0; t < 9; ++t) {
    ASSERT_EQ(plan.row(2, 3, t).size(), 1U);
    EXPECT_EQ(plan.row(2, 3, t)[0].last, 16);
  }
}

// A rule that always returns `some`: the bits must suffice.
struct Shy {
  std::uint64_t row(std::int64_t, std::int64_t, std::int64_t i, std::int64_t j) const {
    return i < 24 ? ~0ULL : j < 128 ? 0 : 0xFFULL;
  }
  Cover cover(const Tile&) const { return Cover::some; }
};

TEST(TilePlan, FindsEmptyAndFullTilesThatTheMaskDidNotReport) {
  const TilePlan plan(Shy{}, {1, 1, 36, 200});
  EXPECT_EQ(plan.row(0, 0, 0).size(), 1U);
  EXPECT_EQ(plan.full_tiles(), 9);
  EXPECT_EQ(plan.skipped_tiles(), 2);
  EXPECT_EQ(plan.partial_tiles(), 1);
  EXPECT_EQ(plan.row(0, 0, 2)[1].bits, TileSpan::kFull);  // keys 192 to 199 are all that is left of the last tile
}

// Each tile row sees one key tile, the one where the row before stopped.
struct Stairs {
  std::uint64_t row(std::int64_t, std::int64_t, std::int64_t i, std::int64_t j) const {
    return i / kTileRows == j / kTileKeys ? ~0ULL : 0;
  }
  Cover cover(const Tile&) const { return Cover::some; }
};

TEST(TilePlan, NeverJoinsSpansOfDifferentRows) {
  const TilePlan plan(Stairs{}, {1, 1, 3 * kTileRows, 3 * kTileKeys});
  for (std::int32_t t = 0; t < 3; ++t) {
    ASSERT_EQ(plan.row(0, 0, t).size(), 1U);
    EXPECT_EQ(plan.row(0, 0, t)[0].first, t);
    EXPECT_EQ(plan.row(0, 0, t)[0].last, t + 1);
  }
}

TEST(TilePlan, KeepsEachPatternOnce) {
  EXPECT_LT(TilePlan(Causal{}, {1, 1, 4096, 4096}).patterns(), 40);
  EXPECT_LT(TilePlan(Causal{} & Window{256}, {1, 1, 8192, 8192}).patterns(), 80);
  const TilePlan plan(parse_mask("sparse(7) & ~window(3)"), {1, 1, 500, 500});
  std::set<std::vector<std::uint64_t>> different;
  for (std::int32_t p = 0; p < plan.patterns(); ++p) different.insert({plan.bits(p), plan.bits(p) + kTileRows});
  EXPECT_EQ(static_cast<std::int64_t>(different.size()), plan.patterns());
}

TEST(TilePlan, IsSharedByHeadsAndSequencesThatAreMaskedAlike) {
  const Extent e{2, 3, 50, 70};
  const TilePlan shared(Causal{}, e), per_batch(Padding{{30, 70}}, e);
  EXPECT_EQ(shared.row(0, 0, 1).data(), shared.row(1, 2, 1).data());
  EXPECT_EQ(per_batch.row(1, 0, 1).data(), per_batch.row(1, 2, 1).data());
  EXPECT_NE(per_batch.row(0, 0, 1).data(), per_batch.row(1, 0, 1).data());
  EXPECT_EQ(per_batch.pairs(), 3 * 50 * (30 + 70));
}

// Counts the calls of a plan.
struct Counted {
  Window window{256};
  std::int64_t* asked;

  std::uint64_t row(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    ++*asked;
    return window.row(b, h, i, j);
  }
  Cover cover(const Tile& tile) const {
    ++*asked;
    return window.cover(tile);
  }
};

TEST(TilePlan, OfAWindowTakesTimeThatGrowsAsTheNumberOfQueries) {
  const auto asked = [](std::int64_t n) {
    std::int64_t count = 0;
    const TilePlan plan(Counted{.asked = &count}, {1, 1, n, n});
    return static_cast<double>(count) / static_cast<double>(n);
  };
  EXPECT_LT(asked(4096), 4);
  EXPECT_LT(asked(131072), 4);
}

// Noise, and a comb that every query sees: each row of tiles has more partial tiles than a plan stores.
TEST(TilePlan, OfManyPartialTilesStoresOneSpanPerRowAndHasTheSamePairs) {
  const Extent e{1, 1, 40, 20'000};
  std::vector<std::uint8_t> noise(e.queries * e.keys);
  for (std::size_t k = 0; k < noise.size(); ++k) noise[k] = (k * 2654435761U >> 7) % 3 == 0;
  const MaskSample samples[] = {
      {table(View<const std::uint8_t, 4>(noise.data(), {1, 1, e.queries, e.keys})),
       [&](auto, auto, auto i, auto j) { return noise[i * e.keys + j] != 0; }},
      {Sparse{3} & Causal{19'900},
       [](auto, auto, auto i, auto j) {
         return (std::abs(i - j) <= 3 || i % 3 == 0 || j % 3 == 0) && j <= i + 19'900;
       }},
  };
  for (const MaskSample& sample : samples) {
    ASSERT_NO_FATAL_FAILURE(expect_plan_of(sample, e));
    const TilePlan plan(sample.mask, e);
    for (std::int64_t t = 0; t < 4; ++t) EXPECT_EQ(plan.row(0, 0, t).size(), 1U);
    EXPECT_LE(plan.patterns(), 4);
  }
}

TEST(TilePlan, OfASparseMaskStoresAFewNumbersPerQuery) {
  const std::int64_t n = 30'000;
  const TilePlan plan(Sparse{4}, {1, 1, n, n});
  std::int64_t spans = 0;
  for (std::int64_t t = 0; t * kTileRows < n; ++t) spans += std::ssize(plan.row(0, 0, t));
  EXPECT_EQ(spans, (n + kTileRows - 1) / kTileRows);
  EXPECT_LT(plan.patterns(), 100);
}

TEST(TilePlan, OfNothingIsEmpty) {
  for (const Extent& e : {Extent{1, 1, 0, 0}, Extent{2, 2, 0, 10}, Extent{2, 2, 30, 0}, Extent{0, 2, 30, 30}}) {
    const TilePlan plan(Causal{}, e);
    EXPECT_EQ(plan.pairs(), 0);
    EXPECT_EQ(plan.full_tiles() + plan.partial_tiles() + plan.skipped_tiles(), 0);
  }
  const TilePlan no_keys(Padding{{0, 0}}, {2, 2, 30, 0});
  for (std::int64_t t = 0; t < 3; ++t) EXPECT_TRUE(no_keys.row(1, 1, t).empty());
}

TEST(TilePlan, OfAMaskThatForbidsEverythingHasNoSpans) {
  const TilePlan plan(~Mask{}, {1, 1, 30, 100});
  EXPECT_EQ(plan.pairs(), 0);
  EXPECT_EQ(plan.skipped_tiles(), 6);
  EXPECT_TRUE(plan.row(0, 0, 2).empty());
  EXPECT_FALSE(plan.full());
}

TEST(TilePlan, RefusesInvalidSizes) {
  using testing::HasSubstr;
  using testing::ThrowsMessage;
  EXPECT_THAT(([] { TilePlan(Mask{}, {1, 1, -1, 4}); }), ThrowsMessage<std::invalid_argument>(HasSubstr("-1")));
  EXPECT_THAT(([] { TilePlan(Padding{{3, 5}}, {3, 1, 8, 8}); }), ThrowsMessage<std::invalid_argument>(HasSubstr("3")));
  const std::int64_t keys = (std::int64_t{1} << 31) * kTileKeys;
  EXPECT_THAT(([&] { TilePlan(Mask{}, {1, 1, 1, keys}); }), ThrowsMessage<std::invalid_argument>(HasSubstr("keys")));
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(([&] { TilePlan(Mask{}, {1, 3, most / 2, 1}); }),
              ThrowsMessage<std::invalid_argument>(HasSubstr("2^63")));
}

TEST(TilePlan, TakesAsManyKeysAsItsSpansCanName) {
  const std::int64_t keys = ((std::int64_t{1} << 31) - 1) * kTileKeys - 5;
  const TilePlan plan(Causal{keys - 100}, {1, 1, 1, keys});
  EXPECT_EQ(plan.pairs(), keys - 99);
}

}  // namespace
}  // namespace attn
