#include "insight/paths/rollout.h"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>

#include "insight/paths/residual.h"
#include "tests/insight/random_rows.h"

namespace attn::insight {
namespace {

using test::RandomRows;
using test::refusal_of;

double sum_of(const nn::Matrix& table, std::int64_t row) {
  return std::accumulate(table.row(row), table.row(row) + table.columns(), 0.0);
}

// The product in the definition, in double precision.
std::vector<double> product(const AttentionTables& tables, std::int64_t layers, ThreadPool& pool) {
  const std::int64_t n = tables.stack(Kind::self).queries;
  std::vector<double> out(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < n; ++i) out[static_cast<std::size_t>(i * n + i)] = 1;
  for (std::int64_t l = 0; l < layers; ++l) {
    nn::Matrix a(n, n);
    with_residual(tables, l, 0, a.view(), pool);
    std::vector<double> next(out.size());
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t k = 0; k < n; ++k)
        for (std::int64_t j = 0; j < n; ++j)
          next[static_cast<std::size_t>(i * n + j)] +=
              static_cast<double>(a.row(i)[k]) * out[static_cast<std::size_t>(k * n + j)];
    out = std::move(next);
  }
  return out;
}

TEST(WithResidual, IsHalfTheMeanOverHeadsAndHalfTheIdentity) {
  InMemoryTables::Tables table_data{1, 2, nn::Matrix(4, 2)};
  const float numbers[] = {0.2F, 0.8F, 1, 0, 0.6F, 0.4F, 0.5F, 0.5F};
  std::copy_n(numbers, 8, table_data.numbers.data());
  const InMemoryTables tables(std::move(table_data), {}, {});
  ThreadPool pool(1);
  nn::Matrix a(2, 2);
  with_residual(tables, 0, 0, a.view(), pool);
  EXPECT_FLOAT_EQ(a.row(0)[0], 0.7F);
  EXPECT_FLOAT_EQ(a.row(0)[1], 0.3F);
  EXPECT_FLOAT_EQ(a.row(1)[0], 0.375F);
  EXPECT_FLOAT_EQ(a.row(1)[1], 0.625F);
}

TEST(WithResidual, ARowWithoutWeightsIsTheIdentity) {
  InMemoryTables::Tables table_data{1, 1, nn::Matrix(2, 2)};
  std::fill_n(table_data.numbers.data(), 4, 0.0F);
  const InMemoryTables tables(std::move(table_data), {}, {});
  ThreadPool pool(1);
  nn::Matrix a(2, 2);
  with_residual(tables, 0, 0, a.view(), pool);
  EXPECT_EQ(a.row(1)[0], 0);
  EXPECT_EQ(a.row(1)[1], 1);
}

TEST(Rollout, RowsSumToOne) {
  ThreadPool pool(2);
  for (const bool causal : {false, true}) {
    const InMemoryTables tables = RandomRows{.layers = 5, .n = 70, .causal = causal}.tables();
    const nn::Matrix all = rollout(tables, 4, pool);
    for (std::int64_t i = 0; i < all.rows(); ++i) EXPECT_NEAR(sum_of(all, i), 1, 1e-6);
  }
}

TEST(Rollout, IsTheProductOfTheLayersTables) {
  ThreadPool pool(2);
  const InMemoryTables tables = RandomRows{.layers = 3, .n = 20}.tables();
  for (std::int64_t layer = 0; layer < 3; ++layer) {
    const nn::Matrix all = rollout(tables, layer, pool);
    const std::vector<double> expected = product(tables, layer + 1, pool);
    for (std::size_t at = 0; at < expected.size(); ++at) EXPECT_NEAR(all.data()[at], expected[at], 1e-7);
  }
}

TEST(Rollout, ChosenTokensAreRowsOfTheWholeTableAcrossBands) {
  ThreadPool pool(2);
  const InMemoryTables tables = RandomRows{.layers = 2, .heads = 1, .n = 300, .causal = true}.tables();
  const nn::Matrix all = rollout(tables, 1, pool);
  const nn::Matrix some = rollout(tables, {1, {299, 3, 3}}, pool);
  for (std::int64_t j = 0; j < 300; ++j) {
    EXPECT_EQ(some.row(0)[j], all.row(299)[j]);
    EXPECT_EQ(some.row(1)[j], all.row(3)[j]);
    EXPECT_EQ(some.row(2)[j], all.row(3)[j]);
  }
}

TEST(Rollout, SameBitsForAnyNumberOfThreads) {
  ThreadPool one(1), three(3);
  const InMemoryTables tables = RandomRows{.layers = 3, .n = 150}.tables();
  const nn::Matrix a = rollout(tables, 2, one), b = rollout(tables, 2, three);
  EXPECT_TRUE(std::equal(a.data(), a.data() + a.rows() * a.columns(), b.data()));
}

TEST(Rollout, ACausalTokenHasNoShareOfLaterTokens) {
  ThreadPool pool(1);
  const InMemoryTables tables = RandomRows{.layers = 4, .n = 12, .causal = true}.tables();
  const nn::Matrix one = rollout(tables, {3, {5}}, pool);
  for (std::int64_t j = 6; j < 12; ++j) EXPECT_EQ(one.row(0)[j], 0);
}

TEST(Rollout, ErrorNamesAMissingTokenOrLayer) {
  ThreadPool pool(1);
  const InMemoryTables tables = RandomRows{}.tables();
  EXPECT_EQ(refusal_of([&] { rollout(tables, {1, {8}}, pool); }), "there is no token 8: tokens count from 0 to 7");
  EXPECT_EQ(refusal_of([&] { rollout(tables, {2, {0}}, pool); }), "there is no layer 2: layers count from 0 to 1");
  EXPECT_EQ(refusal_of([&] { rollout(tables, {1, {}}, pool); }), "name at least one token to follow");
}

TEST(Rollout, ErrorForATableThatIsNotSquareNamesBothSizes) {
  ThreadPool pool(1);
  InMemoryTables::Tables table_data{1, 1, nn::Matrix(2, 3)};
  std::fill_n(table_data.numbers.data(), 6, 0.5F);
  const InMemoryTables tables(std::move(table_data), {}, {});
  const std::string said = refusal_of([&] { rollout(tables, {0, {0}}, pool); });
  EXPECT_NE(said.find("2 queries and 3 keys"), std::string::npos) << said;
}

TEST(Rollout, RejectsAWholeTableOf513TokensButNotOneToken) {
  ThreadPool pool(2);
  const InMemoryTables tables = RandomRows{.layers = 1, .heads = 1, .n = 513}.tables();
  const std::string said = refusal_of([&] { rollout(tables, 0, pool); });
  EXPECT_NE(said.find("512"), std::string::npos) << said;
  EXPECT_NE(said.find("513"), std::string::npos) << said;
  EXPECT_NEAR(sum_of(rollout(tables, {0, {512}}, pool), 0), 1, 1e-6);
}

TEST(Rollout, ExceptionFromProgressStopsTheWork) {
  ThreadPool pool(1);
  const InMemoryTables tables = RandomRows{}.tables();
  struct Stop {};
  EXPECT_THROW(rollout(tables, 1, pool, [](std::int64_t, std::int64_t) { throw Stop(); }), Stop);
}

}  // namespace
}  // namespace attn::insight
