#include "insight/tables/attention_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "insight/blocks/blocks.h"
#include "insight/blocks/picture.h"
#include "tests/support/random.h"

namespace attn::insight {
namespace {

// [L H N, M] numbers between 0 and 1.
InMemoryTables::Tables random_tables(std::int64_t layers, std::int64_t heads, std::int64_t n, std::int64_t m) {
  InMemoryTables::Tables table_data{layers, heads, nn::Matrix(layers * heads * n, m)};
  for (std::int64_t i = 0; i < table_data.numbers.rows() * m; ++i)
    table_data.numbers.data()[i] = std::abs(test::bell(7, static_cast<std::uint64_t>(i))) / 4;
  return table_data;
}

std::string table_refusal(InMemoryTables::Tables table_data, std::vector<std::string> queries,
                          std::vector<std::string> keys) {
  try {
    const InMemoryTables made(std::move(table_data), std::move(queries), std::move(keys));
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  }
  return "taken";
}

TEST(InMemoryTables, HeadsAreFoundLayerByLayer) {
  InMemoryTables::Tables table_data = random_tables(2, 3, 4, 5);
  const float expected = table_data.numbers.row((1 * 3 + 2) * 4 + 3)[1];
  const InMemoryTables tables(std::move(table_data), {}, {});
  ThreadPool pool(1);
  EXPECT_EQ(tables.weights({Kind::self, 1, 2}, pool).row(3)[1], expected);
  EXPECT_EQ(tables.heads().size(), 6U);
  EXPECT_EQ(tables.heads()[5], (HeadId{Kind::self, 1, 2}));
}

TEST(InMemoryTables, EachKindHasItsOwnTablesAndTokens) {
  std::vector<InMemoryTables::Part> parts;
  parts.push_back({Kind::cross, random_tables(2, 2, 2, 3), named_tokens({"x", "y"}), named_tokens({"a", "b", "c"})});
  parts.push_back({Kind::self, random_tables(1, 2, 3, 3), named_tokens({"a", "b", "c"}), {}});
  const float expected = parts[0].tables.numbers.row((1 * 2 + 1) * 2 + 1)[2];
  const InMemoryTables tables(std::move(parts));
  ASSERT_EQ(tables.stacks().size(), 2U);
  EXPECT_EQ(tables.stacks()[0].kind, Kind::self);
  EXPECT_EQ(tables.stacks()[1].layers, 2);
  EXPECT_EQ(tables.queries(Kind::cross)[1].text, "y");
  EXPECT_EQ(tables.keys(Kind::cross)[2].text, "c");
  EXPECT_EQ(tables.keys(Kind::self)[0].text, "a");
  ThreadPool pool(1);
  EXPECT_EQ(tables.weights({Kind::cross, 1, 1}, pool).row(1)[2], expected);
  EXPECT_FALSE(tables.causal({Kind::cross, 1, 1}));
  EXPECT_EQ(tables.heads().size(), 6U);
}

TEST(InMemoryTables, RejectsADuplicateKindAndNoKind) {
  const auto said = [](std::vector<InMemoryTables::Part> parts) {
    try {
      const InMemoryTables made(std::move(parts));
    } catch (const std::invalid_argument& wrong) {
      return std::string(wrong.what());
    }
    return std::string();
  };
  std::vector<InMemoryTables::Part> twice;
  for (int n = 0; n < 2; ++n) twice.push_back({Kind::decoder, random_tables(1, 1, 2, 2), {}, {}});
  EXPECT_EQ(said(std::move(twice)), "tables of kind 'decoder' are given twice");
  EXPECT_EQ(said({}), "there is no table of weights to look at");
}

TEST(InMemoryTables, TokensOfASquareTableNameRowsAndColumns) {
  const InMemoryTables tables(random_tables(1, 1, 2, 2), {"a", "b"}, {});
  EXPECT_EQ(tables.keys(Kind::self)[1].text, "b");
}

TEST(InMemoryTables, MissingTokensAreNumbered) {
  const InMemoryTables tables(random_tables(1, 1, 2, 3), {}, {});
  EXPECT_EQ(tables.keys(Kind::self)[2].text, "2");
}

TEST(InMemoryTables, ErrorForAWrongNumberOfTokensNamesBothNumbers) {
  EXPECT_EQ(table_refusal(random_tables(1, 1, 2, 3), {"a"}, {}), "there are 1 tokens for 2 rows of the table");
  EXPECT_EQ(table_refusal(random_tables(1, 1, 2, 3), {"a", "b"}, {"c"}),
            "there are 1 tokens for 3 columns of the table");
}

TEST(InMemoryTables, NoWeightAboveTheDiagonalMeansCausal) {
  InMemoryTables::Tables table_data = random_tables(1, 2, 3, 3);
  for (std::int64_t i = 0; i < 3; ++i)
    std::fill(table_data.numbers.row(i) + i + 1, table_data.numbers.row(i) + 3, 0.0F);
  const InMemoryTables tables(std::move(table_data), {}, {});
  EXPECT_TRUE(tables.causal({Kind::self, 0, 0}));
  EXPECT_FALSE(tables.causal({Kind::self, 0, 1}));
}

TEST(InMemoryTables, ErrorForAMissingHeadNamesTheValidRange) {
  const InMemoryTables tables(random_tables(2, 3, 4, 4), {}, {});
  try {
    tables.check({Kind::self, 0, 3});
    FAIL();
  } catch (const std::invalid_argument& wrong) {
    EXPECT_STREQ(wrong.what(), "there is no head 3: heads count from 0 to 2");
  }
  EXPECT_THROW(tables.check({Kind::cross, 0, 0}), std::invalid_argument);
}

TEST(Blocks, VisitEveryWeightOnce) {
  const InMemoryTables tables(random_tables(1, 1, kBlockQueries + 3, 2 * kBlockColumns + 1), {}, {});
  ThreadPool pool(1);
  const nn::Matrix whole = tables.weights({}, pool);
  nn::Matrix seen(whole.rows(), whole.columns());
  std::fill_n(seen.data(), seen.rows() * seen.columns(), 0.0F);
  each_block(tables, {}, [&](Rectangle at, View<const float, 2> block) {
    for (std::int64_t i = 0; i < block.shape[0]; ++i)
      for (std::int64_t j = 0; j < block.shape[1]; ++j) seen.row(at.row + i)[at.col + j] += block(i, j);
  });
  EXPECT_TRUE(std::equal(seen.data(), seen.data() + seen.rows() * seen.columns(), whole.data()));
}

TEST(Picture, ATableThatFitsIsCopied) {
  const InMemoryTables tables(random_tables(1, 1, 5, 7), {}, {});
  ThreadPool pool(1);
  const Picture small = picture(tables, {}, 7, Reduce::max, pool);
  EXPECT_FALSE(small.reduced());
  EXPECT_EQ(small.cells.row(4)[6], tables.weights({}, pool).row(4)[6]);
}

// Sizes that the number of cells does not divide.
class Reduction : public testing::TestWithParam<Reduce> {};

TEST_P(Reduction, CellsCoverTheirRectangles) {
  constexpr std::int64_t kMost = 6;
  const InMemoryTables tables(random_tables(1, 1, 20, 33), {}, {});
  ThreadPool pool(1);
  const nn::Matrix whole = tables.weights({}, pool);
  const Picture small = picture(tables, {}, kMost, GetParam(), pool);
  ASSERT_TRUE(small.reduced());
  for (std::int64_t r = 0; r < kMost; ++r) {
    for (std::int64_t c = 0; c < kMost; ++c) {
      double sum = 0, most = 0, count = 0;
      for (std::int64_t i = r * 20 / kMost; i < (r + 1) * 20 / kMost; ++i) {
        for (std::int64_t j = c * 33 / kMost; j < (c + 1) * 33 / kMost; ++j) {
          sum += whole.row(i)[j];
          most = std::max<double>(most, whole.row(i)[j]);
          ++count;
        }
      }
      EXPECT_NEAR(small.cells.row(r)[c], GetParam() == Reduce::max ? most : sum / count, 1e-6);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(MeanAndMax, Reduction, testing::Values(Reduce::mean, Reduce::max),
                         [](const auto& which) { return which.param == Reduce::mean ? "Mean" : "Max"; });

}  // namespace
}  // namespace attn::insight
