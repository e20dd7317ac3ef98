// mask_test.cc - rules against their definitions, the algebra of masks, tables and biases.
#include "attn/mask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "mask_trees.h"

namespace attn {
namespace {

using testing::MaskSample;
using testing::MaskTrees;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

template <typename F>
void for_each_pair(const Extent& e, F&& f) {
  for (std::int64_t b = 0; b < e.batch; ++b) {
    for (std::int64_t h = 0; h < e.heads; ++h) {
      for (std::int64_t i = 0; i < e.queries; ++i) {
        for (std::int64_t j = 0; j < e.keys; ++j) f(b, h, i, j);
      }
    }
  }
}

std::int64_t count(const Mask& mask, std::int64_t queries, std::int64_t keys) {
  std::int64_t pairs = 0;
  for_each_pair({1, 1, queries, keys}, [&](auto b, auto h, auto i, auto j) { pairs += mask.allows(b, h, i, j); });
  return pairs;
}

void expect_same(const Mask& a, const Mask& b, const Extent& e) {
  std::int64_t wrong = 0;
  for_each_pair(e, [&](auto n, auto h, auto i, auto j) { wrong += a.allows(n, h, i, j) != b.allows(n, h, i, j); });
  EXPECT_EQ(wrong, 0) << a.text() << "\nand\n" << b.text();
}

void expect_true_rows(const MaskSample& sample, const Extent& e) {
  std::int64_t wrong = 0;
  for_each_pair(e, [&](auto b, auto h, auto i, auto j) {
    wrong += sample.mask.allows(b, h, i, j) != sample.truth(b, h, i, j);
  });
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
    Tile t{trees.number(0, e.batch - 1), trees.number(0, e.heads - 1), trees.number(0, e.queries - 1), 0,
           trees.number(0, e.keys - 1),  0};
    t.i1 = trees.number(t.i0 + 1, e.queries);
    t.j1 = trees.number(t.j0 + 1, e.keys);
    std::int64_t seen = 0;
    for (std::int64_t i = t.i0; i < t.i1; ++i) {
      for (std::int64_t j = t.j0; j < t.j1; ++j) seen += sample.truth(t.b, t.h, i, j);
    }
    const Cover cover = sample.mask.cover(t);
    if (cover == Cover::none) ASSERT_EQ(seen, 0) << sample.mask.text();
    if (cover == Cover::all) ASSERT_EQ(seen, (t.i1 - t.i0) * (t.j1 - t.j0)) << sample.mask.text();
  }
}

TEST(MaskRules, AnswerAsTheirDefinitionsSay) {
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

TEST(MaskRules, CombinedAtRandomAnswerAsTheirDefinitionsSay) {
  MaskTrees trees(2);
  for (int k = 0; k < 200; ++k) {
    const Extent e = trees.extent(90);
    const MaskSample sample = trees.tree(e, 4);
    ASSERT_NO_THROW(sample.mask.check(e));
    expect_true_rows(sample, e);
    expect_sound_cover(sample, e, trees);
  }
}

// Plans skip what cover() calls none: for masks by position it must find every such rectangle, and every full one.
TEST(MaskRules, ByPositionNeverCallARectangleMixedThatIsNot) {
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
      const Cover exact = seen == 0                                   ? Cover::none
                          : seen == (t.i1 - t.i0) * (t.j1 - t.j0) ? Cover::all
                                                                      : Cover::some;
      ASSERT_EQ(sample.mask.cover(t), exact) << sample.mask.text();
    }
  }
}

TEST(MaskRules, SayTruthfullyThatTheyDoNotDependOnBatchOrHead) {
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
  EXPECT_EQ(count(Global{2}, 8, 8), 28);
  EXPECT_EQ(count(Block{3}, 8, 8), 9 + 9 + 4);
  EXPECT_EQ(count(Padding{{3}}, 8, 8), 24);
  EXPECT_EQ(count(Causal{} | Prefix{2}, 4, 4), 11);
  EXPECT_EQ(count(Document{{7, 7, 3, 7}}, 4, 4), 10);
}

TEST(MaskRules, TakeTheLargestAndSmallestNumbers) {
  const Extent e{1, 1, 70, 130};
  expect_same(Causal{kMost}, Mask{}, e);
  expect_same(Causal{kLeast}, ~Mask{}, e);
  expect_same(Window(kUnlimited, 0), Causal{}, e);
  expect_same(Window{kUnlimited}, Mask{}, e);
  expect_same(Padding{{kMost}}, Mask{}, e);
  expect_same(Global{kMost}, Mask{}, e);
  expect_same(Block{kMost}, Mask{}, e);
  expect_same(Sparse{kMost}, Mask{}, e);
  for (const Mask& mask : {Mask(Causal{kMost}), Mask(Window{kUnlimited}), Mask(Padding{{kMost}}), Mask(Block{kMost}),
                           Mask(Sparse{kMost}), Mask(Global{kMost})}) {
    EXPECT_EQ(mask.cover({0, 0, 0, 70, 0, 130}), Cover::all) << mask.text();
  }
  EXPECT_EQ(Mask(Causal{kLeast}).cover({0, 0, 0, 70, 0, 130}), Cover::none);
}

TEST(MaskRules, RefuseSizesThatMeanNothing) {
  EXPECT_THAT([] { Window{-1}; }, ThrowsMessage<std::invalid_argument>(HasSubstr("-1")));
  EXPECT_THROW(Window(0, -2), std::invalid_argument);
  EXPECT_THROW(Sparse{0}, std::invalid_argument);
  EXPECT_THROW(Global{-1}, std::invalid_argument);
  EXPECT_THROW(Block{0}, std::invalid_argument);
  EXPECT_THROW(Padding{{-3}}, std::invalid_argument);
  EXPECT_THROW(Padding{std::vector<std::int64_t>{}}, std::invalid_argument);
  EXPECT_THROW(Prefix{-1}, std::invalid_argument);
  EXPECT_THROW(Document{std::vector<std::int64_t>{}}, std::invalid_argument);
}

TEST(MaskRules, OfAnotherSizeAreRefusedWithBothSizes) {
  const auto refused = [](const Mask& mask, const Extent& e, const std::string& mine, const std::string& theirs) {
    EXPECT_THAT([&] { mask.check(e); },
                ThrowsMessage<std::invalid_argument>(::testing::AllOf(HasSubstr(mine), HasSubstr(theirs))));
  };
  const std::vector<std::uint8_t> ones(24, 1);
  refused(Padding{{3, 5}}, {7, 1, 8, 8}, "2 lengths", "7 sequences");
  refused(Causal{} | Prefix{{3, 5}}, {7, 1, 8, 8}, "2 lengths", "7 sequences");
  refused(Document{{0, 0, 1}}, {1, 1, 3, 4}, "3 ids", "3 and 4");
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

TEST(MaskAlgebra, KnowsWhatIsEverything) {
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

// Every other key. No text, no cover to speak of: the least that a rule must have.
struct EvenKeys {
  std::uint64_t row(std::int64_t, std::int64_t, std::int64_t, std::int64_t) const { return 0x5555555555555555U; }
  Cover cover(const Tile&) const { return Cover::some; }
};
struct OneHead : EvenKeys {
  std::uint64_t row(std::int64_t, std::int64_t h, std::int64_t, std::int64_t) const { return h == 1 ? ~0ULL : 0; }
  bool per_head() const { return true; }
  std::string text() const { return "one_head"; }
};

TEST(MaskAlgebra, TakesRulesOfTheCaller) {
  const Mask mask = Mask(EvenKeys{}) & Causal{};
  EXPECT_EQ(count(mask, 4, 4), 6);
  EXPECT_EQ(mask.text(), "custom & causal");
  EXPECT_FALSE(mask.per_head());
  EXPECT_TRUE((Causal{} & OneHead{}).per_head());
  EXPECT_TRUE((OneHead{} | Causal{}).allows(0, 1, 0, 3));
  EXPECT_EQ((~Mask(OneHead{})).text(), "~one_head");
}

TEST(MaskTable, OwnsItsCopyAndReadsStridedViews) {
  std::vector<std::uint8_t> wide(4 * 10, 0);
  for (int i = 0; i < 4; ++i) wide[i * 10 + i] = 7;
  const Mask mask = table(View<const std::uint8_t, 4>(wide.data(), {1, 1, 4, 4}, {0, 0, 10, 1}));
  wide.assign(40, 1);
  expect_same(mask, Window{0}, {1, 1, 4, 4});
}

TEST(MaskTable, BooleansAndBytesMeanTheSame) {
  const std::array<bool, 6> flags{true, false, true, false, false, true};
  const std::array<std::uint8_t, 6> bytes{1, 0, 255, 0, 0, 2};
  expect_same(table(View<const bool, 4>(flags.data(), {1, 1, 2, 3})),
              table(View<const std::uint8_t, 4>(bytes.data(), {1, 1, 2, 3})), {1, 1, 2, 3});
  expect_same(padding_table(View<const bool, 2>(flags.data(), {2, 3})),
              padding_table(View<const std::uint8_t, 2>(bytes.data(), {2, 3})), {2, 1, 4, 3});
}

TEST(MaskTable, PaddingFromFlagsAndIdsIsPadding) {
  const std::vector<std::uint8_t> flags{1, 1, 1, 0, 0, 1, 1, 1, 1, 0};
  const std::vector<std::int64_t> ids{101, 7, 102, 0, 0, 101, 8, 9, 102, 0};
  const Extent e{2, 2, 5, 5};
  expect_same(padding_table(View<const std::uint8_t, 2>(flags.data(), {2, 5})), Padding{{3, 4}}, e);
  const Mask from_ids = padding_ids(View<const std::int64_t, 2>(ids.data(), {2, 5}), 0);
  expect_same(from_ids, Padding{{3, 4}}, e);
  EXPECT_TRUE(from_ids.per_batch());
  EXPECT_FALSE(from_ids.per_head());
}

TEST(MaskTable, WithoutAnyPairFitsAProblemWithoutAnyPair) {
  const std::uint8_t nothing = 0;
  for (const Shape<4>& shape : {Shape<4>{1, 1, 0, 5}, Shape<4>{1, 1, 4, 0}}) {
    const Mask mask = table(View<const std::uint8_t, 4>(&nothing, shape));
    EXPECT_NO_THROW(mask.check({1, 1, shape[2], shape[3]}));
    EXPECT_THROW(mask.check({1, 1, 4, 5}), std::invalid_argument);
    EXPECT_NO_THROW(parse_mask(mask.text()).check({1, 1, shape[2], shape[3]}));
  }
}

TEST(TableAxes, FindsEachShapeThatPythonGives) {
  const Extent e{2, 3, 4, 5};
  const auto axes = [&](const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides) {
    const TableAxes a = table_axes(shape, strides, e);
    return std::pair(a.shape, a.strides);
  };
  using P = std::pair<Shape<4>, Shape<4>>;
  EXPECT_EQ(axes({5}, {1}), P({1, 1, 1, 5}, {0, 0, 0, 1}));
  EXPECT_EQ(axes({4, 5}, {5, 1}), P({1, 1, 4, 5}, {0, 0, 5, 1}));
  EXPECT_EQ(axes({2, 5}, {9, 1}), P({2, 1, 1, 5}, {9, 0, 0, 1}));
  EXPECT_EQ(axes({1, 5}, {9, 1}), P({1, 1, 1, 5}, {0, 0, 0, 1}));
  EXPECT_EQ(axes({2, 1, 5}, {5, 5, 1}), P({2, 1, 1, 5}, {5, 0, 0, 1}));
  EXPECT_EQ(axes({2, 4, 5}, {20, 5, 1}), P({2, 1, 4, 5}, {20, 0, 5, 1}));
  EXPECT_EQ(axes({2, 3, 4, 5}, {60, 20, 5, 1}), P({2, 3, 4, 5}, {60, 20, 5, 1}));
  EXPECT_EQ(axes({2, 1, 1, 5}, {5, 5, 5, 1}), P({2, 1, 1, 5}, {5, 0, 0, 1}));
}

TEST(TableAxes, RefusesOtherShapesWithBothSizes) {
  const Extent e{2, 3, 4, 5};
  using Sizes = std::vector<std::int64_t>;
  const auto refused = [&](const Sizes& shape, const Sizes& strides, const std::string& named) {
    EXPECT_THAT([&] { table_axes(shape, strides, e); },
                ThrowsMessage<std::invalid_argument>(::testing::AllOf(HasSubstr(named), HasSubstr("[2,3,4,5]"))));
  };
  refused({3, 5}, {5, 1}, "[3,5]");
  refused({4, 6}, {6, 1}, "[4,6]");
  refused({3, 4, 5}, {20, 5, 1}, "[3,4,5]");
  refused({1, 2, 3, 4, 5}, {1, 1, 1, 1, 1}, "[1,2,3,4,5]");
  refused({4, 5}, {1, 4}, "dense");
  refused({}, {}, "[]");
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Mask additive_row(const std::vector<float>& values) {
  return additive(View<const float, 4>(values.data(), {1, 1, 1, static_cast<std::int64_t>(values.size())}));
}

TEST(AdditiveMask, ForbidsAtOrBelowMinusABillionAndAddsTheRest) {
  const Mask mask = additive_row({0, -1e9F, std::numeric_limits<float>::lowest(), -kInfinity, -0.99e9F, kNan, 2});
  const std::vector<bool> allowed{true, false, false, false, true, true, true};
  for (std::size_t j = 0; j < allowed.size(); ++j) EXPECT_EQ(mask.allows(0, 0, 3, j), allowed[j]) << j;
  const View<const float, 4> bias = mask.bias();
  ASSERT_FALSE(bias.empty());
  EXPECT_EQ(bias.shape, (Shape<4>{1, 1, 1, 7}));
  EXPECT_EQ(bias.strides, (Shape<4>{0, 0, 0, 1}));
  EXPECT_EQ(bias(0, 0, 0, 1), 0);
  EXPECT_EQ(bias(0, 0, 0, 3), 0);
  EXPECT_EQ(bias(0, 0, 0, 4), -0.99e9F);
  EXPECT_TRUE(std::isnan(bias(0, 0, 0, 5)));
  EXPECT_EQ(bias(0, 0, 0, 6), 2);
}

TEST(AdditiveMask, OfZerosAndForbiddenPlacesIsABooleanTable) {
  const Mask mask = additive_row({0, -kInfinity, -0.0F, std::numeric_limits<float>::lowest()});
  EXPECT_TRUE(mask.bias().empty());
  EXPECT_EQ(mask.text(), "table(1010)");
  EXPECT_EQ((~mask).text(), "~table(1010)");
}

TEST(AdditiveMask, LivesOnInWhatIsMadeOfIt) {
  Mask mask = Causal{} & additive_row({1, 2, -kInfinity}) & Window{5};
  EXPECT_EQ(mask.bias()(0, 0, 0, 1), 2);
  EXPECT_EQ(count(mask, 3, 3), 5);
  mask = mask | Mask{};
  EXPECT_EQ(mask.bias()(0, 0, 0, 1), 2);
  EXPECT_EQ(count(mask, 3, 3), 9);
  EXPECT_EQ(mask.bias()(0, 0, 0, 2), 0);
}

TEST(AdditiveMask, AddsItsBiasToThatOfAnother) {
  const std::vector<float> by_query{10, 20, 30, 40, 50, 60};
  const Mask rows = additive(View<const float, 4>(by_query.data(), {1, 1, 2, 3}));
  const Mask keys = additive_row({1, -kInfinity, 3});
  for (const Mask& mask : {rows & keys, rows | keys}) {
    const View<const float, 4> bias = mask.bias();
    EXPECT_EQ(bias.shape, (Shape<4>{1, 1, 2, 3}));
    EXPECT_EQ(bias.strides, (Shape<4>{0, 0, 3, 1}));
    EXPECT_EQ(bias(0, 0, 1, 0), 41);
    EXPECT_EQ(bias(0, 0, 1, 1), 50);
    EXPECT_EQ(bias(0, 0, 0, 2), 33);
  }
  EXPECT_EQ((rows & keys & keys).bias()(0, 0, 1, 2), 66);
  EXPECT_FALSE((rows & keys).allows(0, 0, 0, 1));
  EXPECT_TRUE((rows | keys).allows(0, 0, 0, 1));
}

TEST(AdditiveMask, RefusesToBeNegatedOrAddedToAnotherShape) {
  const Mask three = additive_row({1, 2, 3}), four = additive_row({1, 2, 3, 4});
  EXPECT_THAT([&] { ~three; }, ThrowsMessage<std::invalid_argument>(HasSubstr("additive[1,1,1,3]")));
  EXPECT_THROW(~(Causal{} & three), std::invalid_argument);
  EXPECT_THAT([&] { three & four; }, ThrowsMessage<std::invalid_argument>(
                                         ::testing::AllOf(HasSubstr("[1,1,1,3]"), HasSubstr("[1,1,1,4]"))));
}

TEST(MaskDrawing, ShowsOneQueryALine) {
  EXPECT_EQ(draw(Causal{}, 3, 4), "■ · · ·\n■ ■ · ·\n■ ■ ■ ·\n");
  EXPECT_EQ(draw(Padding{{1, 2}}, 1, 3, 1), "■ ■ ·\n");
  EXPECT_EQ(draw(Causal{}, 0, 4), "");
}

// A block of docs/masks.md is a mask's text and then its picture.
TEST(MaskDrawing, OfTheDocumentationIsTrue) {
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
    const std::int64_t keys = static_cast<std::int64_t>(picture.find('\n') + 1) / static_cast<std::int64_t>(sizeof("■"));
    Mask mask;
    ASSERT_NO_THROW(mask = parse_mask(before)) << before;
    const std::string truth = draw(mask, rows, 8);
    EXPECT_EQ(picture, truth) << before << keys;
    ++pictures;
  }
  EXPECT_GE(pictures, 12);
}

}  // namespace
}  // namespace attn
