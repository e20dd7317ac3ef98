#include "insight/statistics/words_attended.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/support/random.h"

namespace attn::insight {
namespace {

std::vector<text::Token> words(const std::vector<std::string>& texts) {
  std::vector<text::Token> out;
  for (const std::string& text : texts) {
    text::Token token;
    token.text = text;
    token.special = text.starts_with("[");
    out.push_back(token);
  }
  return out;
}

double all_of(const Attended& a) {
  return std::accumulate(a.most.begin(), a.most.end(), a.special + a.rest,
                         [](double sum, const Attended::Share& share) { return sum + share.weight; });
}

TEST(Attended, SumsToTheWholeRow) {
  const auto keys = words({"[CLS]", "a", "b", "c", "d", "[SEP]"});
  const std::vector<float> row = {0.25F, 0.125F, 0.25F, 0.0625F, 0.1875F, 0.125F};
  const Attended without_special = attended(row, keys, {.top = 2});
  EXPECT_EQ(without_special.most[0].key, 2);
  EXPECT_EQ(without_special.most[1].key, 4);
  EXPECT_EQ(without_special.special, 0.375);
  EXPECT_EQ(without_special.rest, 0.1875);
  const Attended among = attended(row, keys, {.top = 2, .special = true});
  EXPECT_EQ(among.most[0].key, 0) << "the first of equal ones";
  EXPECT_EQ(among.special, 0);
  EXPECT_EQ(all_of(without_special), 1);
  EXPECT_EQ(all_of(among), 1);
}

TEST(Attended, LeavesOutWeightsOfZero) {
  const std::vector<float> row = {1, 0, 0};
  EXPECT_EQ(attended(row, words({"a", "b", "c"}), {}).most.size(), 1U);
  EXPECT_TRUE(attended(std::vector<float>{1, 0}, words({"[CLS]", "b"}), {}).most.empty());
}

TEST(MeanRows, AverageTheHeadsInEveryBand) {
  constexpr std::int64_t kRows = 1100, kColumns = 1000;  // more than a band holds
  InMemoryTables::Tables table_data{1, 2, nn::Matrix(2 * kRows, kColumns)};
  for (std::int64_t i = 0; i < 2 * kRows * kColumns; ++i)
    table_data.numbers.data()[i] = std::abs(test::bell(5, static_cast<std::uint64_t>(i)));
  const InMemoryTables tables(std::move(table_data), {}, {});
  ThreadPool pool(1);
  const nn::Matrix a = tables.weights({Kind::self, 0, 0}, pool), b = tables.weights({Kind::self, 0, 1}, pool);
  std::int64_t next = 0, wrong = 0;
  each_mean_row(
      tables, tables.heads(),
      [&](std::int64_t query, std::span<const float> mean) {
        EXPECT_EQ(query, next++);
        for (std::int64_t j = 0; j < kColumns; ++j)
          wrong += mean[static_cast<std::size_t>(j)] == (a.row(query)[j] + b.row(query)[j]) / 2 ? 0 : 1;
      },
      pool);
  EXPECT_EQ(next, kRows);
  EXPECT_EQ(wrong, 0);
}

TEST(FindWords, PrefersTheSameCaseAndElseIgnoresIt) {
  const auto text = words({"It", "saw", "it", "IT"});
  EXPECT_EQ(find_words(text, "it"), (std::vector<std::int64_t>{2}));
  EXPECT_EQ(find_words(text, "iT"), (std::vector<std::int64_t>{0, 2, 3}));
  EXPECT_TRUE(find_words(text, "was").empty());
  EXPECT_EQ(find_words(words({" it", "it "}), "it"), (std::vector<std::int64_t>{0, 1})) << "as tokens have spaces";
}

TEST(NearestWords, AreThoseWithTheFewestChanges) {
  const auto text = words({"[CLS]", "street", "Tired", "tree", "Tired", "cat"});
  EXPECT_EQ(nearest_words(text, "tyred", 2), (std::vector<std::string>{"Tired", "tree"}));
  EXPECT_EQ(nearest_words(text, "", 9).size(), 4U);
}

}  // namespace
}  // namespace attn::insight
