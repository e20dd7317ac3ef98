#include "insight/experiments/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "insight/blocks/map_tile.h"
#include "insight/blocks/picture.h"
#include "insight/experiments/align.h"
#include "insight/tables/difference.h"
#include "tests/insight/random_rows.h"
#include "tests/support/looking.h"

namespace attn::insight {
namespace {

using test::RandomRows;
using test::refusal_of;

std::vector<text::Token> tokens(const std::string& letters) {
  std::vector<text::Token> out;
  for (const char letter : letters) {
    out.emplace_back();
    out.back().text = std::string(1, letter);
  }
  return out;
}
std::vector<std::string> names(const std::string& letters) {
  std::vector<std::string> out;
  for (const char letter : letters) out.emplace_back(1, letter);
  return out;
}

// The recursion of the definition.
std::int64_t longest(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::int64_t>> length(a.size() + 1, std::vector<std::int64_t>(b.size() + 1));
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j)
      length[i][j] = a[i - 1] == b[j - 1] ? length[i - 1][j - 1] + 1 : std::max(length[i - 1][j], length[i][j - 1]);
  return length[a.size()][b.size()];
}

TEST(Align, IsALongestCommonSubsequenceAndSymmetric) {
  test::Random random(3);
  for (int round = 0; round < 200; ++round) {
    std::string a, b;
    for (auto n = random.below(12); n > 0; --n) a += static_cast<char>('a' + random.below(4));
    for (auto n = random.below(12); n > 0; --n) b += static_cast<char>('a' + random.below(4));
    const Alignment pairs = align(tokens(a), tokens(b)), turned = align(tokens(b), tokens(a));
    ASSERT_EQ(pairs.size(), longest(a, b)) << a << " " << b;
    EXPECT_EQ(pairs.a, turned.b);
    EXPECT_EQ(pairs.b, turned.a);
    for (std::size_t k = 0; k < pairs.a.size(); ++k) {
      EXPECT_EQ(a[static_cast<std::size_t>(pairs.a[k])], b[static_cast<std::size_t>(pairs.b[k])]);
      if (k > 0) {
        EXPECT_GT(pairs.a[k], pairs.a[k - 1]);
        EXPECT_GT(pairs.b[k], pairs.b[k - 1]);
      }
    }
  }
}

TEST(Align, TwoLongTextsWithoutACommonEndTakeOneBitPerPair) {
  std::string a, b;
  test::Random random(5);
  for (int i = 0; i < 4000; ++i)
    a += static_cast<char>('a' + random.below(26)), b += static_cast<char>('a' + random.below(26));
  EXPECT_EQ(align(tokens(a), tokens(b)).size(), longest(a, b));
}

TEST(Compare, ATextWithItselfAlignsAllTokensAndHasNoChange) {
  ThreadPool pool(2);
  const InMemoryTables one = RandomRows{.layers = 2, .n = 100}.tables();
  const Comparison same = compare(one, one, pool);
  EXPECT_EQ(same.of(Kind::self).queries.size(), 100);
  ASSERT_EQ(same.heads.size(), 6U);
  for (const HeadChange& head : same.heads) {
    EXPECT_EQ(head.change, 0);
    EXPECT_EQ(head.entropy_a, head.entropy_b);
  }
  EXPECT_EQ(same.heads[4].head, (HeadId{Kind::self, 1, 1}));  // ties stay in order
}

TEST(Compare, IsSymmetric) {
  ThreadPool pool(2);
  const InMemoryTables one = RandomRows{.seed = 1}.tables(names("abcdabcd"));
  const InMemoryTables other = RandomRows{.n = 9, .seed = 2}.tables(names("badcxabde"));
  const Comparison ab = compare(one, other, pool), ba = compare(other, one, pool);
  for (std::size_t h = 0; h < ab.heads.size(); ++h) {
    EXPECT_EQ(ab.heads[h].head, ba.heads[h].head);
    EXPECT_EQ(ab.heads[h].change, ba.heads[h].change);
    EXPECT_EQ(ab.heads[h].entropy_a, ba.heads[h].entropy_b);
    EXPECT_GT(ab.heads[h].change, 0);
    EXPECT_LE(ab.heads[h].change, 1);
  }
}

InMemoryTables lettered_table(std::vector<float> numbers, const std::string& letters) {
  const auto n = static_cast<std::int64_t>(letters.size());
  InMemoryTables::Tables table_data{1, 1, nn::Matrix(n, n)};
  std::ranges::copy(numbers, table_data.numbers.data());
  return {std::move(table_data), names(letters), {}};
}

TEST(Compare, DisjointRowsDifferByOne) {
  ThreadPool pool(1);
  const InMemoryTables one = lettered_table({0, 1, 1, 0}, "ab"), other = lettered_table({1, 0, 0, 1}, "ab");
  EXPECT_DOUBLE_EQ(compare(one, other, pool).heads[0].change, 1);
}

// All keys that the other text lacks form one bin: two rows with .5 on a and .5 elsewhere are equal.
TEST(Compare, KeysThatTheOtherTextLacksFormOneBin) {
  ThreadPool pool(1);
  const InMemoryTables one = lettered_table({0.5F, 0.25F, 0.25F, 0, 0, 1, 0, 0, 1}, "axy");
  const InMemoryTables other = lettered_table({0.5F, 0.5F, 0, 1}, "az");
  EXPECT_NEAR(compare(one, other, pool).heads[0].change, 0, 1e-15);
}

TEST(Compare, OneRowHasTheTextbookDivergence) {
  ThreadPool pool(1);
  const InMemoryTables one = lettered_table({0.75F, 0.25F, 0, 1}, "ax"),
                       other = lettered_table({0.25F, 0.75F, 0, 1}, "ay");
  const double expected = (0.75 * std::log2(0.75 / 0.5) + 0.25 * std::log2(0.25 / 0.5));
  EXPECT_NEAR(compare(one, other, pool).heads[0].change, expected, 1e-12);
}

TEST(Compare, ErrorNamesDifferentShapes) {
  ThreadPool pool(1);
  const InMemoryTables one = RandomRows{}.tables(), other = RandomRows{.layers = 4, .heads = 5}.tables();
  const std::string said = refusal_of([&] { compare(one, other, pool); });
  EXPECT_NE(said.find("2 layers of 3 heads"), std::string::npos) << said;
  EXPECT_NE(said.find("4 layers of 5 heads"), std::string::npos) << said;
}

TEST(Compare, RejectsTextsWithoutACommonToken) {
  ThreadPool pool(1);
  const InMemoryTables one = lettered_table({1, 0, 0, 1}, "ab"), other = lettered_table({1, 0, 0, 1}, "cd");
  EXPECT_NE(refusal_of([&] { compare(one, other, pool); }).find("no token in common"), std::string::npos);
}

TEST(Difference, SubtractsAlignedWeightsInAnyWindow) {
  ThreadPool pool(1);
  const InMemoryTables one = RandomRows{.n = 6, .seed = 4}.tables(names("abxcde"));
  const InMemoryTables other = RandomRows{.n = 7, .seed = 5}.tables(names("abcyzde"));
  const Comparison compared = compare(one, other, pool);
  const auto less = difference(one, other, compared);
  const AttentionStack& all = less->stack(Kind::self);
  ASSERT_EQ(all.queries, 5);
  EXPECT_EQ(less->queries(Kind::self)[2].text, "c");
  const HeadId head{Kind::self, 1, 2};
  const nn::Matrix a = one.weights(head, pool), b = other.weights(head, pool);
  const std::int64_t in_a[] = {0, 1, 3, 4, 5}, in_b[] = {0, 1, 2, 5, 6};
  nn::Matrix part(4, 3);
  less->weights(head, {1, 2}, part.view(), pool);
  for (std::int64_t i = 0; i < 4; ++i)
    for (std::int64_t j = 0; j < 3; ++j)
      EXPECT_EQ(part.row(i)[j], a.row(in_a[i + 1])[in_a[j + 2]] - b.row(in_b[i + 1])[in_b[j + 2]]);
}

TEST(DifferenceOnA, MatchesNumpyOnAllTokensOfA) {
  ThreadPool pool(2);
  const test::Looking golden;
  const InMemoryTables a = golden.tables("a"), b = golden.tables("b");
  const Comparison found = compare(a, b, pool);
  ASSERT_EQ(found.tokens[0].queries.a.size(), golden["pairs"].size());
  for (std::size_t k = 0; k < golden["pairs"].size(); ++k) {
    EXPECT_EQ(found.tokens[0].queries.a[k], golden["pairs"][k][0]);
    EXPECT_EQ(found.tokens[0].queries.b[k], golden["pairs"][k][1]);
  }
  const auto less = difference_on_a(a, b, found);
  EXPECT_EQ(less->numbers(), Numbers::differences);
  const nn::Matrix table = less->weights({}, pool);
  for (std::int64_t i = 0; i < 12; ++i) {
    for (std::int64_t j = 0; j < 12; ++j) {
      const auto& expected = golden["difference"][static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
      EXPECT_EQ(std::isnan(table.row(i)[j]), expected.is_null()) << i << " " << j;
      EXPECT_TRUE(expected.is_null() || std::abs(table.row(i)[j] - expected.get<double>()) < 1e-7) << i << " " << j;
    }
  }
  nn::Matrix part(4, 5);
  less->weights({}, {2, 7}, part.view(), pool);
  for (std::int64_t i = 0; i < 4; ++i) {
    for (std::int64_t j = 0; j < 5; ++j) {
      const float whole = table.row(2 + i)[7 + j];
      EXPECT_TRUE(part.row(i)[j] == whole || (std::isnan(whole) && std::isnan(part.row(i)[j]))) << i << " " << j;
    }
  }
}

TEST(DifferenceOnA, MapTilesAndPicturesShowTheNumberFarthestFromZero) {
  ThreadPool pool(3);
  const InMemoryTables a = RandomRows{.layers = 1, .heads = 1, .n = 600, .seed = 1}.tables();
  const InMemoryTables b = RandomRows{.layers = 1, .heads = 1, .n = 600, .seed = 2}.tables();
  const Comparison found = compare(a, b, pool);
  const auto less = difference_on_a(a, b, found);
  const nn::Matrix table = less->weights({}, pool);
  const auto farthest = [&](std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
    float most = 0;
    for (std::int64_t i = row; i < std::min<std::int64_t>(row + rows, 600); ++i)
      for (std::int64_t j = column; j < std::min<std::int64_t>(column + columns, 600); ++j)
        if (std::abs(table.row(i)[j]) > std::abs(most)) most = table.row(i)[j];
    return most;
  };
  const nn::Matrix tile = map_tile(*less, {}, {2, 0, 0}, pool);
  for (std::int64_t r = 0; r < tile.rows(); ++r)
    for (std::int64_t c = 0; c < tile.columns(); ++c)
      ASSERT_EQ(std::abs(tile.row(r)[c]), std::abs(farthest(4 * r, 4, 4 * c, 4))) << r << " " << c;
  const Picture small = picture(*less, {}, 60, Reduce::farthest, pool);
  for (std::int64_t r = 0; r < 60; ++r)
    for (std::int64_t c = 0; c < 60; ++c)
      ASSERT_EQ(std::abs(small.cells.row(r)[c]), std::abs(farthest(10 * r, 10, 10 * c, 10))) << r << " " << c;
}

}  // namespace
}  // namespace attn::insight
