// Tables of biases by distance against their definitions, and T5's buckets against torch.
#include "attn/bias.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/numbers.h"

namespace attn {
namespace {

using test::kHuge;

// The bias of query i and key j in Options::bias.
float at(const DistanceBias& bias, std::int64_t h, std::int64_t i, std::int64_t j, std::int64_t queries) {
  return bias.view()(h, j - i + queries - 1);
}

TEST(Alibi, SlopesOfEightHeadsHalveFromHeadToHead) {
  EXPECT_THAT(alibi_slopes(8),
              testing::ElementsAre(1 / 2.f, 1 / 4.f, 1 / 8.f, 1 / 16.f, 1 / 32.f, 1 / 64.f, 1 / 128.f, 1 / 256.f));
}

TEST(Alibi, SlopesOfSixteenHeadsAreAGeometricSequence) {
  const auto slopes = alibi_slopes(16);
  for (std::size_t h = 0; h < 16; ++h)
    EXPECT_FLOAT_EQ(slopes[h], std::pow(2.f, -0.5f * static_cast<float>(h + 1))) << h;
}

// The paper's rule: the slopes of 8 heads, then the 1st, 3rd, 5th and 7th of 16.
TEST(Alibi, TwelveHeadsTakeEverySecondSlopeOfSixteen) {
  const auto twelve = alibi_slopes(12);
  const auto eight = alibi_slopes(8);
  const auto sixteen = alibi_slopes(16);
  ASSERT_EQ(twelve.size(), 12u);
  for (std::size_t h = 0; h < 8; ++h) EXPECT_EQ(twelve[h], eight[h]);
  for (std::size_t h = 0; h < 4; ++h) EXPECT_EQ(twelve[8 + h], sixteen[2 * h]);
}

TEST(Alibi, OneHeadHasTheSlopeOfTheFormula) {
  EXPECT_THAT(alibi_slopes(1), testing::ElementsAre(1 / 256.f));
  EXPECT_THROW(alibi_slopes(0), std::invalid_argument);
}

TEST(Alibi, BiasFallsWithDistanceOnBothSides) {
  constexpr std::int64_t kQueries = 5;
  constexpr std::int64_t kKeys = 9;
  const auto bias = alibi(8, {kQueries, kKeys});
  EXPECT_EQ(bias.view().shape, (Shape<2>{8, kQueries + kKeys - 1}));
  for (std::int64_t h = 0; h < 8; ++h)
    for (std::int64_t i = 0; i < kQueries; ++i)
      for (std::int64_t j = 0; j < kKeys; ++j)
        EXPECT_EQ(at(bias, h, i, j, kQueries),
                  -std::ldexp(1.f, -static_cast<int>(h) - 1) * static_cast<float>(std::abs(i - j)));
}

// Two queries after a cache of 6 keys have the biases of the last two of 8 queries.
TEST(DistanceBias, OffsetShiftsQueryPositions) {
  std::vector<float> numbers(2 * 3 + 1);
  std::iota(numbers.begin(), numbers.end(), 10.f);
  const View<const float, 2> table(numbers.data(), {7, 1});
  std::vector<float> buckets(32);
  std::iota(buckets.begin(), buckets.end(), 0.f);
  const View<const float, 2> t5(buckets.data(), {32, 1});
  const std::pair<DistanceBias, DistanceBias> pairs[] = {
      {alibi(1, {8, 8}), alibi(1, {2, 8, 6})},
      {clamped_relative(table, {8, 8}), clamped_relative(table, {2, 8, 6})},
      {t5_bias(t5, {8, 8}, {}), t5_bias(t5, {2, 8, 6}, {})},
  };
  for (const auto& [whole, step] : pairs)
    for (std::int64_t i = 0; i < 2; ++i)
      for (std::int64_t j = 0; j < 8; ++j) EXPECT_EQ(at(step, 0, i, j, 2), at(whole, 0, i + 6, j, 8)) << i << ' ' << j;
}

TEST(DistanceBias, TableCanBeFilledByTheCaller) {
  DistanceBias bias(2, {3, 4, 10});
  const auto out = bias.view();
  EXPECT_EQ(out.shape, (Shape<2>{2, 6}));
  for (std::int64_t x = 0; x < 6; ++x) EXPECT_EQ(out(1, x), 0);
  for (std::int64_t x = 0; x < 6; ++x) out(1, x) = static_cast<float>(bias.distance(x));
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 4; ++j) EXPECT_EQ(at(bias, 1, i, j, 3), static_cast<float>(j - (i + 10)));
}

template <typename T>
concept HasView = requires(T&& bias) { std::forward<T>(bias).view().data; };

TEST(DistanceBias, ViewOfATemporaryDoesNotCompile) {
  static_assert(HasView<DistanceBias&>);
  static_assert(HasView<const DistanceBias&>);
  static_assert(!HasView<DistanceBias>);
  DistanceBias bias(1, {1, 1});
  static_assert(std::is_same_v<decltype(bias.view()), View<float, 2>>);
  static_assert(std::is_same_v<decltype(std::as_const(bias).view()), View<const float, 2>>);
}

TEST(DistanceBias, EmptyProblemsHaveEmptyTables) {
  EXPECT_EQ(DistanceBias(2, {0, 0}).distance(0), 1);
  DistanceBias none(2, {0, 0});
  EXPECT_EQ(none.view().shape, (Shape<2>{2, 0}));
  DistanceBias keys_only(2, {0, 5});
  EXPECT_EQ(keys_only.view().shape, (Shape<2>{2, 4}));
}

TEST(DistanceBias, SizesAreChecked) {
  EXPECT_THROW(DistanceBias(0, {1, 1}), std::invalid_argument);
  EXPECT_THROW(DistanceBias(1, {-1, 1}), std::invalid_argument);
  EXPECT_THROW(DistanceBias(1, {1, -1}), std::invalid_argument);
  EXPECT_THROW(DistanceBias(1, {kHuge, kHuge}), std::invalid_argument);
  EXPECT_THROW(DistanceBias(kHuge, {2, 2}), std::invalid_argument);
  EXPECT_THROW(DistanceBias(1, {1, 1, kHuge}), std::invalid_argument);
  EXPECT_THROW(alibi(-3, {4, 4}), std::invalid_argument);
}

TEST(T5Bucket, AgreesWithTorchEverywhere) {
  std::ifstream file(ATTNSCOPE_GOLDEN "/t5_buckets.txt");
  ASSERT_TRUE(file) << "no t5_buckets.txt in " ATTNSCOPE_GOLDEN;
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;
  T5Buckets rule;
  std::int64_t last = 0;
  std::int64_t compared = 0;
  const auto compare = [&] {
    runs.emplace_back(last + 1, -1);
    for (std::size_t r = 0; r + 1 < runs.size(); ++r)
      for (auto x = runs[r].first; x < runs[r + 1].first; ++x, ++compared)
        ASSERT_EQ(t5_bucket(x, rule), runs[r].second) << "distance " << x << ", " << rule.buckets << " buckets, max "
                                                      << rule.max_distance << ", bidirectional " << rule.bidirectional;
    runs.clear();
  };
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    if (line[0] == '#') continue;
    if (std::string word; line.rfind("rule", 0) == 0) {
      if (!runs.empty()) compare();
      std::int64_t first = 0;
      words >> word >> rule.bidirectional >> rule.buckets >> rule.max_distance >> first >> last;
    } else {
      std::int64_t from = 0;
      std::int64_t bucket = 0;
      words >> from >> bucket;
      runs.emplace_back(from, bucket);
    }
    ASSERT_TRUE(words) << line;
  }
  compare();
  EXPECT_GT(compared, 29000);
}

TEST(T5Bucket, KeysAfterTheQueryShareBucketZeroUnlessBidirectional) {
  EXPECT_EQ(t5_bucket(5, {.bidirectional = false}), 0);
  EXPECT_EQ(t5_bucket(0, {.bidirectional = false}), 0);
  EXPECT_EQ(t5_bucket(-5, {.bidirectional = false}), 5);
  EXPECT_EQ(t5_bucket(5, {}), 16 + 5);
  EXPECT_EQ(t5_bucket(-5, {}), 5);
}

TEST(T5Bucket, StaysInRangeAtAnyDistance) {
  EXPECT_EQ(t5_bucket(kHuge, {}), 31);
  EXPECT_EQ(t5_bucket(std::numeric_limits<std::int64_t>::min(), {}), 15);
  EXPECT_EQ(t5_bucket(std::numeric_limits<std::int64_t>::min(), {.bidirectional = false}), 31);
}

TEST(T5Bucket, InvalidRulesThrow) {
  EXPECT_THROW(t5_bucket(1, {.buckets = 3}), std::invalid_argument);
  EXPECT_THROW(t5_bucket(1, {.bidirectional = false, .buckets = 1}), std::invalid_argument);
  EXPECT_THROW(t5_bucket(1, {.buckets = 32, .max_distance = 8}), std::invalid_argument);
  EXPECT_THROW(t5_bucket(1, {.buckets = -32}), std::invalid_argument);
}

TEST(T5Bias, LooksUpTheBucketOfEachDistance) {
  std::vector<float> numbers(32 * 3);
  std::iota(numbers.begin(), numbers.end(), 0.f);
  const View<const float, 2> table(numbers.data(), {32, 3});
  for (bool bidirectional : {true, false}) {
    const T5Buckets rule{.bidirectional = bidirectional};
    const auto bias = t5_bias(table, {40, 300}, rule);
    EXPECT_EQ(bias.view().shape, (Shape<2>{3, 339}));
    for (std::int64_t h = 0; h < 3; ++h)
      for (std::int64_t i : {0, 7, 39})
        for (std::int64_t j = 0; j < 300; ++j)
          ASSERT_EQ(at(bias, h, i, j, 40), table(t5_bucket(j - i, rule), h)) << h << ' ' << i << ' ' << j;
  }
}

TEST(T5Bias, TableThatDoesNotFitThrows) {
  std::vector<float> numbers(64);
  EXPECT_THROW(t5_bias(View<const float, 2>(numbers.data(), {16, 2}), {4, 4}, {}), std::invalid_argument);
  EXPECT_THROW(t5_bias({}, {4, 4}, {}), std::invalid_argument);
  EXPECT_THROW(t5_bias(View<const float, 2>(numbers.data(), {32, 2}, {1, 32}), {4, 4}, {}), std::invalid_argument);
}

TEST(ClampedRelative, DistancesBeyondTheTableAreClamped) {
  std::vector<float> numbers(5 * 2);
  std::iota(numbers.begin(), numbers.end(), 1.f);
  // With a column of padding: the table may be a view of a wider one.
  std::vector<float> wide(5 * 3);
  for (std::size_t r = 0; r < 5; ++r)
    for (std::size_t h = 0; h < 2; ++h) wide[r * 3 + h] = numbers[r * 2 + h];
  const View<const float, 2> table(wide.data(), {5, 2}, {3, 1});
  const auto bias = clamped_relative(table, {6, 7});
  for (std::int64_t h = 0; h < 2; ++h)
    for (std::int64_t i = 0; i < 6; ++i)
      for (std::int64_t j = 0; j < 7; ++j) {
        const auto distance = j - i < -2 ? -2 : j - i > 2 ? 2 : j - i;
        EXPECT_EQ(at(bias, h, i, j, 6), numbers[static_cast<std::size_t>((distance + 2) * 2 + h)]);
      }
}

TEST(ClampedRelative, EvenNumberOfRowsThrows) {
  std::vector<float> numbers(8);
  EXPECT_THROW(clamped_relative(View<const float, 2>(numbers.data(), {4, 2}), {3, 3}), std::invalid_argument);
  EXPECT_THROW(clamped_relative({}, {3, 3}), std::invalid_argument);
}

}  // namespace
}  // namespace attn
