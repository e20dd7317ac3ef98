#include "insight/tables/without_sinks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>

#include "insight/blocks/map_tile.h"
#include "insight/blocks/profile.h"
#include "insight/statistics/token_sets.h"
#include "insight/tables/value_weighted.h"
#include "insight/tables/words.h"
#include "model/recording/recording.h"
#include "tests/insight/random_rows.h"
#include "tests/support/looking.h"

namespace attn::insight {
namespace {

using test::refusal_of;

std::shared_ptr<const AttentionTables> golden_tables(const char* model, ThreadPool& pool) {
  const model::Reader reader = model::Reader::load(std::string(ATTNSCOPE_GOLDEN) + "/models/" + model);
  const model::Text text{"The quick brown fox jumps over the lazy dog.", std::nullopt, std::nullopt};
  return std::make_shared<RecordedTables>(model::read(reader, text, {.value_norms = true}, pool));
}

std::shared_ptr<const AttentionTables> random_tables(const test::RandomRows& rows) {
  return std::make_shared<InMemoryTables>(rows.table_data(), std::vector<std::string>{}, std::vector<std::string>{});
}

TEST(WithoutSinks, MatchesNumpy) {
  ThreadPool pool(2);
  const test::Looking golden;
  const auto rest = without_sinks(golden.shared("a"));
  const nn::Matrix expected = golden.table("aside"), found = rest->weights({}, pool);
  for (std::int64_t i = 0; i < expected.rows(); ++i)
    for (std::int64_t j = 0; j < expected.columns(); ++j)
      EXPECT_NEAR(found.row(i)[j], expected.row(i)[j], 2e-7 * expected.row(i)[j]) << i << " " << j;
  EXPECT_TRUE(std::all_of(found.row(3), found.row(3) + 12, [](float w) { return w == 0; })) << "nothing is left of it";
}

TEST(WithoutSinks, AWindowDoesNotDependOnEarlierCalls) {
  ThreadPool pool(3);
  const auto whole = random_tables({.layers = 2, .heads = 2, .n = 700, .seed = 3});
  const HeadId head{Kind::self, 1, 0};
  const nn::Matrix table = without_sinks(whole)->weights(head, pool);
  const auto rest = without_sinks(whole);
  test::Random random(5);
  for (int round = 0; round < 60; ++round) {
    const auto row = static_cast<std::int64_t>(random.below(700)),
               column = static_cast<std::int64_t>(random.below(700));
    nn::Matrix part(1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(700 - row))),
                    1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(700 - column))));
    rest->weights(head, {row, column}, part.view(), pool);
    for (std::int64_t i = 0; i < part.rows(); ++i)
      ASSERT_TRUE(std::equal(part.row(i), part.row(i) + part.columns(), table.row(row + i) + column)) << round;
  }
}

TEST(WithoutSinks, RowsOfAModelSumToOneOrNothing) {
  ThreadPool pool(2);
  for (const char* const model : {"bert", "gpt2"}) {
    const auto whole = golden_tables(model, pool);
    for (const auto& shown : {whole, std::shared_ptr<const AttentionTables>(merged_words(whole))}) {
      const auto rest = without_sinks(shown);
      const std::vector<text::Token>& keys = rest->keys(Kind::self);
      for (const HeadId& head : rest->heads()) {
        const nn::Matrix table = rest->weights(head, pool);
        for (std::int64_t i = 0; i < table.rows(); ++i) {
          const double sum = std::accumulate(table.row(i), table.row(i) + table.columns(), 0.0);
          const bool only_first = i == 0 && std::string(model) == "gpt2";
          EXPECT_NEAR(sum, only_first ? 0 : 1, 1e-6) << model << " " << to_string(head) << " row " << i;
          for (std::int64_t j = 0; j < table.columns(); ++j) {
            const bool sink = j == 0 || is_special(keys[static_cast<std::size_t>(j)]);
            EXPECT_TRUE(!sink || table.row(i)[j] == 0) << i << " " << j;
          }
        }
      }
    }
  }
}

TEST(WithoutSinks, MapTilesAndProfilesUseTheRenormalisedTable) {
  ThreadPool pool(2);
  const auto rest = without_sinks(random_tables({.layers = 1, .heads = 1, .n = 300, .causal = true, .seed = 4}));
  const nn::Matrix table = rest->weights({}, pool), tile = map_tile(*rest, {}, {1, 0, 0}, pool);
  for (std::int64_t r = 0; r < tile.rows(); ++r)
    for (std::int64_t c = 0; c < tile.columns(); ++c)
      EXPECT_EQ(tile.row(r)[c], std::max({table.row(2 * r)[2 * c], table.row(2 * r)[2 * c + 1],
                                          table.row(2 * r + 1)[2 * c], table.row(2 * r + 1)[2 * c + 1]}));
  const Profile found = profile(*rest, {}, pool);
  EXPECT_EQ(found.received[0], 0);
  EXPECT_NEAR(std::accumulate(found.received.begin(), found.received.end(), 0.0), 299, 1e-3);
}

TEST(WithoutSinks, OnlyWeightsHaveSinks) {
  ThreadPool pool(2);
  const std::string said = refusal_of([&] { without_sinks(value_weighted(golden_tables("bert", pool))); });
  EXPECT_EQ(said, "sinks can only be removed from weights: these are weights times norms");
}

}  // namespace
}  // namespace attn::insight
