// tests/engine/mask/mask_test.cc - rules against their definitions, and the algebra of masks.
#include "attn/mask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/engine/mask/mask_trees.h"
#include "tests/support/numbers.h"

namespace attn {
namespace {

using test::count;
using test::expect_same;
using test::for_each_pair;
using test::kHuge;
using test::MaskSample;
using test::MaskTrees;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

void expect_true_rows(const MaskSample& sample, const Extent& e) {
  std::int64_t wrong = 0;
  for_each_pair(
      e, [&](auto b, auto h, auto i, auto j) { wrong += sample.mask.allows(b, h, i, j) != sample.truth(b, h, i, j); });
  ASSERT_EQ(wrong, 0) << sample.mask.text();
  std::vector<std::uint64_t> rows(e.queries);
  for (std::int64_t j = 0; j < e.keys; j += 64) {
    sample.mask.rows({0, 0, 0, e.queries, j, std::min(j + 64, e.keys)}, rows.data());
    for (std::int64_t i = 0; i < e.queries; ++i) {
      for (std::int64_t t = j; t < std::min(j + 64, e.keys); ++t) {
        ASSERT_EQ((rows[i] >> (t - j)) & 1, sample.truth(0, 0, i, t)) << sample.mask.text() << " at " << i << "," << t;
      }
    }
  }
}

void expect_sound_cover(const MaskSample& sample, const Extent& e, MaskTrees& trees) {
  for (int k = 0; k < 30; ++k) {
    Tile t{trees.number(0, e.batch - 1),   trees.number(0, e.heads - 1),
           trees.number(0, e.queries - 1), 0,
           trees.number(0, e.keys - 1),    0};
    t.i1 = trees.number(t.i0 + 1, e.queries);
    t.j1 = trees.number(t.j0 + 1, e.keys);
    std::int64_t seen = 0;
    for (std::int64_t i = t.i0; i < t.i1; ++i) {
      for (std::int64_t j = t.j0; j < t.j1; ++j) seen += sample.truth(t.b, t.h, i, j);
    }
    const Cover cover = sample.mask.cover(t);
    ASSERT_TRUE(cover != Cover::none || seen == 0) << sample.mask.text();
    ASSERT_TRUE(cover != Cover::all || seen == (t.i1 - t.i0) * (t.j1 - t.j0)) << sample.mask.text();
  }
}

TEST(MaskRules, MatchTheirDefinitions) {
  MaskTrees trees(1);
  for (int kind = 0; kind < MaskTrees::kKinds; ++kind) {
    for (int k = 0; k < 25; ++k) {
      const Extent e = trees.extent(150);
      const MaskSample sample = trees.rule(e, kind);
      ASSERT_NO_THROW(sample.mask.check(e)) << sample.mask.text();
      expect_true_rows(sample, e);
      expect_sound_cover(sample, e, trees);
    }
  }
}

TEST(MaskRules, CombinedAtRandomMatchTheirDefinitions) {
  MaskTrees trees(2);
  for (int k = 0; k < 200; ++k) {
    const Extent e = trees.extent(90);
    const MaskSample sample = trees.tree(e, 4);
    ASSERT_NO_THROW(sample.mask.check(e));
    expect_true_rows(sample, e);
    expect_sound_cover(sample, e, trees);
  }
}

// Plans skip tiles with Cover::none: masks by position must report every such rectangle, and every full one.
TEST(MaskRules, ByPositionReportExactCover) {
  MaskTrees trees(3);
  for (const int kind : {0, 1, 2, 4, 5, 6, 7}) {
    for (int k = 0; k < 300; ++k) {
      const Extent e{2, 1, 40, 40};
      const MaskSample sample = trees.rule(e, kind);
      Tile t{trees.number(0, 1), 0, trees.number(0, 39), 0, trees.number(0, 39), 0};
      t.i1 = trees.number(t.i0 + 1, 40);
      t.j1 = trees.number(t.j0 + 1, 40);
      std::int64_t seen = 0;
      for (std::int64_t i = t.i0; i < t.i1; ++i) {
        for (std::int64_t j = t.j0; j < t.j1; ++j) seen += sample.truth(t.b, t.h, i, j);
      }
      const Cover exact = seen == 0 ? Cover::none : seen == (t.i1 - t.i0) * (t.j1 - t.j0) ? Cover::all : Cover::some;
      ASSERT_EQ(sample.mask.cover(t), exact) << sample.mask.text();
    }
  }
}

TEST(MaskRules, ReportCorrectlyThatTheyDoNotDependOnBatchOrHead) {
  MaskTrees trees(4);
  int shared = 0;
  for (int k = 0; k < 300; ++k) {
    const Extent e{3, 3, 30, 30};
    const MaskSample sample = trees.tree(e, 2);
    shared += !sample.mask.per_batch() && !sample.mask.per_head();
    for_each_pair(e, [&](auto b, auto h, auto i, auto j) {
      const bool same = sample.truth(sample.mask.per_batch() ? b : 0, sample.mask.per_head() ? h : 0, i, j);
      ASSERT_EQ(sample.truth(b, h, i, j), same) << sample.mask.text();
    });
  }
  EXPECT_GT(shared, 30);
}

TEST(MaskRules, HaveTheKnownNumbersOfPairs) {
  EXPECT_EQ(count(Mask{}, 5, 7), 35);
  EXPECT_EQ(count(Causal{}, 4, 4), 10);
  EXPECT_EQ(count(Causal{3}, 1, 4), 4);
  EXPECT_EQ(count(Causal{-1}, 4, 4), 6);
  EXPECT_EQ(count(Window{2}, 8, 8), 34);
  EXPECT_EQ(count(Window(2, 0), 8, 8), 21);
  EXPECT_EQ(count(Sparse{4}, 16, 16), 184);
  EXPECT_EQ(count(Dilated(4, 2), 8, 8), 8 + 2 * (6 + 4));
  EXPECT_EQ(count(Natten(8, 3), 8, 8), 8 * 3);
  EXPECT_EQ(count(Natten({7, 5}, {3, 5}), 35, 35), 35 * 15);
  EXPECT_EQ(count(Global{2}, 8, 8), 28);
  EXPECT_EQ(count(Block{3}, 8, 8), 9 + 9 + 4);
  EXPECT_EQ(count(Padding{{3}}, 8, 8), 24);
  EXPECT_EQ(count(Causal{} | Prefix{2}, 4, 4), 11);
  EXPECT_EQ(count(Document{{7, 7, 3, 7}}, 4, 4), 10);
  EXPECT_EQ(count(parse_mask("document(7,3,9/7,7,3,7,7)"), 3, 5), 5);
}

TEST(MaskRules, TakeTheLargestAndSmallestNumbers) {
  const Extent e{1, 1, 70, 130};
  expect_same(Causal{kHuge}, Mask{}, e);
  expect_same(Causal{kLeast}, ~Mask{}, e);
  expect_same(Window(kUnlimited, 0), Causal{}, e);
  expect_same(Window{kUnlimited}, Mask{}, e);
  expect_same(Padding{{kHuge}}, Mask{}, e);
  expect_same(Global{kHuge}, Mask{}, e);
  expect_same(Block{kHuge}, Mask{}, e);
  expect_same(Sparse{kHuge}, Mask{}, e);
  expect_same(Dilated(kHuge, 1), Mask{}, e);
  expect_same(Dilated(kHuge, kHuge), Window{0}, e);
  for (const Mask& mask : {Mask(Causal{kHuge}), Mask(Window{kUnlimited}), Mask(Padding{{kHuge}}), Mask(Block{kHuge}),
                           Mask(Sparse{kHuge}), Mask(Global{kHuge})}) {
    EXPECT_EQ(mask.cover({0, 0, 0, 70, 0, 130}), Cover::all) << mask.text();
  }
  EXPECT_EQ(Mask(Causal{kLeast}).cover({0, 0, 0, 70, 0, 130}), Cover::none);
}

TEST(MaskRules, RefuseInvalidSizes) {
  EXPECT_THAT([] { Window{-1}; }, ThrowsMessage<std::invalid_argument>(HasSubstr("-1")));
  EXPECT_THROW(Window(0, -2), std::invalid_argument);
  EXPECT_THROW(Dilated(-1, 2), std::invalid_argument);
  EXPECT_THROW(Dilated(1, 0), std::invalid_argument);
  EXPECT_THROW(Natten(0, 1), std::invalid_argument);
  EXPECT_THROW(Natten(5, 7), std::invalid_argument);
  EXPECT_THROW(Natten(5, 2), std::invalid_argument);
  EXPECT_THROW(Natten(kHuge, 3), std::invalid_argument);
  EXPECT_THROW(Sparse{0}, std::invalid_argument);
  EXPECT_THROW(Global{-1}, std::invalid_argument);
  EXPECT_THROW(Block{0}, std::invalid_argument);
  EXPECT_THROW(Padding{{-3}}, std::invalid_argument);
  EXPECT_THROW(Padding{std::vector<std::int64_t>{}}, std::invalid_argument);
  EXPECT_THROW(Prefix{-1}, std::invalid_argument);
  EXPECT_THROW(Document{std::vector<std::int64_t>{}}, std::invalid_argument);
  EXPECT_THROW(CausalPerSequence{{}}, std::invalid_argument);
}

TEST(MaskRules, OfAnotherSizeAreRefusedWithBothSizes) {
  const auto refused = [](const Mask& mask, const Extent& e, const std::string& mine, const std::string& theirs) {
    EXPECT_THAT([&] { mask.check(e); },
                ThrowsMessage<std::invalid_argument>(testing::AllOf(HasSubstr(mine), HasSubstr(theirs))));
  };
  const std::vector<std::uint8_t> ones(24, 1);
  refused(Padding{{3, 5}}, {7, 1, 8, 8}, "2 lengths", "7 sequences");
  refused(Causal{} | Prefix{{3, 5}}, {7, 1, 8, 8}, "2 lengths", "7 sequences");
  refused(Document{{0, 0, 1}}, {1, 1, 3, 4}, "3 ids", "3 and 4");
  refused(parse_mask("document(0,1/0,0,1)"), {1, 1, 3, 3}, "2 and 3", "3 and 3");
  refused(CausalPerSequence{{3, 5}}, {7, 1, 8, 8}, "2 offsets", "7 sequences");
  refused(Natten({4, 3}, {3, 3}), {1, 1, 12, 13}, "4 x 3 = 12 tokens", "12, 13");
  refused(~Document(View<const std::int64_t, 2>(std::vector<std::int64_t>(6).data(), {2, 3})), {3, 1, 3, 3},
          "2 sequences", "3");
  refused(table(View<const std::uint8_t, 4>(ones.data(), {2, 1, 3, 4})), {2, 5, 3, 9}, "[2,1,3,4]", "[2,5,3,9]");
  EXPECT_NO_THROW(Mask(Padding{{100}}).check({7, 1, 8, 8}));
  EXPECT_NO_THROW(Mask(Causal{}).check({7, 1, 8, 9}));
}

TEST(MaskAlgebra, ObeysItsLaws) {
  MaskTrees trees(5);
  for (int k = 0; k < 60; ++k) {
    const Extent e = trees.extent(40);
    const Mask a = trees.tree(e, 2).mask, b = trees.tree(e, 2).mask, c = trees.tree(e, 2).mask;
    expect_same(~(a & b), ~a | ~b, e);
    expect_same(~(a | b), ~a & ~b, e);
    expect_same(~~a, a, e);
    expect_same(a & b, b & a, e);
    expect_same(a & (b | c), (a & b) | (a & c), e);
    expect_same(a | ~a, Mask{}, e);
    expect_same(a & ~a, ~Mask{}, e);
    expect_same(a & Mask{}, a, e);
    expect_same(a | ~Mask{}, a, e);
  }
}

TEST(MaskAlgebra, RecognisesEverything) {
  EXPECT_TRUE(Mask{}.everything());
  EXPECT_TRUE(Mask(Everything{}).everything());
  EXPECT_TRUE((Mask{} & Everything{}).everything());
  EXPECT_TRUE((Causal{} | Mask{}).everything());
  EXPECT_FALSE((Causal{} & Mask{}).everything());
  EXPECT_FALSE((~Mask{}).everything());
}

TEST(MaskAlgebra, KeepsLongChainsFlatAndRefusesDeepNests) {
  Mask chain = Window{0};
  for (int k = 1; k < 2000; ++k) chain = chain | Window(k, 0);
  expect_same(chain, Window(1999, 0), {1, 1, 100, 100});

  Mask nest = Causal{};
  const auto nest_more = [&] {
    for (int k = 0; k < kMaxMaskDepth; ++k) nest = k % 2 == 0 ? nest & Window{k} : nest | Block{k + 1};
  };
  EXPECT_THAT(nest_more, ThrowsMessage<std::invalid_argument>(HasSubstr("200")));
  EXPECT_EQ(count(nest, 4, 4), count(parse_mask(nest.text()), 4, 4));
}

// Every other key. Has no text and a trivial cover: the least that a rule must have.
struct EvenKeys {
  std::uint64_t row(std::int64_t, std::int64_t, std::int64_t, std::int64_t) const { return 0x5555555555555555U; }
  Cover cover(const Tile&) const { return Cover::some; }
};
// The example of docs/masks.md: head h sees 2^h keys.
struct Fan {
  std::uint64_t row(std::int64_t, std::int64_t h, std::int64_t i, std::int64_t j) const {
    std::uint64_t bits = 0;
    for (std::int64_t t = 0; t < 64; ++t) bits |= std::uint64_t{sees(h, i, j + t)} << t;
    return bits;
  }
  Cover cover(const Tile& t) const {
    if (t.j0 > t.i1 - 1) return Cover::none;
    if (t.i0 - (t.j1 - 1) >= std::int64_t{1} << t.h) return Cover::none;
    return Cover::some;
  }
  bool per_head() const { return true; }
  std::string text() const { return "fan"; }

  static bool sees(std::int64_t h, std::int64_t i, std::int64_t j) { return j <= i && i - j < std::int64_t{1} << h; }
};

TEST(MaskAlgebra, AcceptsRulesOfTheCaller) {
  const Mask mask = Mask(EvenKeys{}) & Causal{};
  EXPECT_EQ(count(mask, 4, 4), 6);
  EXPECT_EQ(mask.text(), "custom & causal");
  EXPECT_FALSE(mask.per_head());

  const Mask fan = Fan{} & Padding{{70}};
  EXPECT_TRUE(fan.per_head());
  EXPECT_EQ((~fan).text(), "~(fan & padding(70))");
  MaskTrees trees(6);
  const MaskSample sample{fan, [](auto, auto h, auto i, auto j) { return j < 70 && j <= i && i - j < (1 << h); }};
  expect_true_rows(sample, {1, 5, 80, 80});
  expect_sound_cover(sample, {1, 5, 80, 80}, trees);
}

TEST(MaskDrawing, ShowsOneQueryPerLine) {
  EXPECT_EQ(draw(Causal{}, 3, 4), "■ · · ·\n■ ■ · ·\n■ ■ ■ ·\n");
  EXPECT_EQ(draw(Padding{{1, 2}}, 1, 3, 1), "■ ■ ·\n");
  EXPECT_EQ(draw(Causal{}, 0, 4), "");
}

// A code block of docs/masks.md is the text of a mask followed by its picture.
TEST(MaskDrawing, MatchesTheDocumentation) {
  std::ifstream file(ATTNSCOPE_GOLDEN "/../../docs/masks.md");
  ASSERT_TRUE(file) << "docs/masks.md is missing";
  int pictures = 0;
  for (std::string line, before; std::getline(file, line); before = line) {
    if (!line.starts_with("■") && !line.starts_with("·")) continue;
    std::string picture;
    std::int64_t rows = 0;
    do {
      picture += line + "\n";
      ++rows;
    } while (std::getline(file, line) && line != "```");
    const std::int64_t keys = 1 + std::count(picture.begin(), picture.begin() + picture.find('\n'), ' ');
    Mask mask;
    ASSERT_NO_THROW(mask = parse_mask(before)) << before;
    EXPECT_EQ(picture, draw(mask, rows, keys)) << before;
    ++pictures;
  }
  EXPECT_GE(pictures, 12);
}

}  // namespace
}  // namespace attn
