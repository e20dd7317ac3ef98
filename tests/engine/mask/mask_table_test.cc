// tests/engine/mask/mask_table_test.cc - masks from tables, with and without a bias.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attn/mask.h"
#include "tests/engine/mask/mask_trees.h"
#include "tests/support/numbers.h"

namespace attn {
namespace {

using test::count;
using test::expect_same;
using test::kInfinity;
using test::kNan;
using testing::HasSubstr;
using testing::ThrowsMessage;

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

TEST(TableAxes, AcceptsEachShapeThatPythonPasses) {
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
  EXPECT_EQ(axes({3, 1, 5}, {5, 5, 1}), P({1, 3, 1, 5}, {0, 5, 0, 1}));
  EXPECT_EQ(axes({3, 4, 5}, {20, 5, 1}), P({1, 3, 4, 5}, {0, 20, 5, 1}));
  EXPECT_EQ(axes({2, 3, 4, 5}, {60, 20, 5, 1}), P({2, 3, 4, 5}, {60, 20, 5, 1}));
  EXPECT_EQ(axes({2, 1, 1, 5}, {5, 5, 5, 1}), P({2, 1, 1, 5}, {5, 0, 0, 1}));
}

TEST(TableAxes, RefusesOtherShapesWithBothSizes) {
  const Extent e{2, 3, 4, 5};
  using Sizes = std::vector<std::int64_t>;
  const auto refused = [&](const Sizes& shape, const Sizes& strides, const std::string& named) {
    EXPECT_THAT([&] { table_axes(shape, strides, e); },
                ThrowsMessage<std::invalid_argument>(testing::AllOf(HasSubstr(named), HasSubstr("[2,3,4,5]"))));
  };
  refused({3, 5}, {5, 1}, "[3,5]");
  refused({4, 6}, {6, 1}, "[4,6]");
  refused({2, 4, 5}, {20, 5, 1}, "one table per sequence is [B,1,N,M]");
  refused({1, 2, 3, 4, 5}, {1, 1, 1, 1, 1}, "[1,2,3,4,5]");
  refused({4, 5}, {1, 4}, "dense");
  refused({}, {}, "[]");
}

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

TEST(AdditiveMask, SurvivesInCombinedMasks) {
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
  EXPECT_THAT([&] { three & four; },
              ThrowsMessage<std::invalid_argument>(testing::AllOf(HasSubstr("[1,1,1,3]"), HasSubstr("[1,1,1,4]"))));
}

}  // namespace
}  // namespace attn
