#include "insight/statistics/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "insight/statistics/token_sets.h"
#include "model/recording/recording.h"
#include "tests/insight/random_rows.h"
#include "tests/model/families/golden_support.h"

namespace attn::insight {
namespace {

using test::RandomRows;

std::vector<HeadStatistics> of_table(const RandomRows& rows, int threads = 2, std::vector<std::string> names = {}) {
  ThreadPool pool(threads);
  return statistics(InMemoryTables(rows.table_data(), std::move(names), {}), {}, pool);
}

text::Token token(std::string text) {
  text::Token made;
  made.piece = made.text = std::move(text);
  return made;
}

TEST(Statistics, ReceivedAndOutgoingHoldTheSameMass) {
  for (const HeadStatistics& head : of_table({.n = 700, .causal = true})) {
    double received = 0, outgoing = 0;
    for (const float x : head.received) received += x;
    for (const float x : head.outgoing) outgoing += x;
    EXPECT_NEAR(received, 700, 1e-2);
    EXPECT_NEAR(outgoing, 700, 1e-2);
  }
}

TEST(Statistics, BaselineEqualsTheSharesOfAnEvenTable) {
  for (const bool causal : {false, true}) {
    RandomRows even{.layers = 1, .heads = 1, .n = 50, .causal = causal};
    even.sharpness = 0;
    std::vector<std::string> names;
    for (int i = 0; i < 50; ++i) names.push_back(i % 7 == 3 ? "," : i == 49 ? "[SEP]" : std::to_string(i % 11));
    const HeadStatistics head = of_table(even, 1, names).front();
    EXPECT_NEAR(head.entropy_share, 1, 1e-5);
    for (const ShareName& name : kShareNames) {
      EXPECT_NEAR(head.shares.*name.share, head.even.*name.share, 1e-5) << name.name;
      EXPECT_GT(head.even.*name.share, 0) << name.name;
    }
    for (std::int64_t o = -kFarthestOffset; o <= kFarthestOffset; ++o)
      EXPECT_NEAR(head.shares.offset(o), head.even.offset(o), 1e-6) << o;
  }
}

TEST(Statistics, BitsDoNotDependOnThreads) {
  const RandomRows rows{.layers = 3, .heads = 5, .n = 130};
  const auto one = of_table(rows, 1), three = of_table(rows, 3);
  for (std::size_t h = 0; h < one.size(); ++h) {
    EXPECT_EQ(one[h].entropy, three[h].entropy);
    EXPECT_EQ(one[h].shares.offsets, three[h].shares.offsets);
    EXPECT_EQ(one[h].received, three[h].received);
  }
}

TEST(Statistics, EntropyShareIgnoresRowsThatSeeOneKeyOnly) {
  InMemoryTables::Tables table_data{1, 1, nn::Matrix(2, 2)};
  const float numbers[] = {1, 0, 0.5F, 0.5F};
  std::copy_n(numbers, 4, table_data.numbers.data());
  ThreadPool pool(1);
  const HeadStatistics head = statistics(InMemoryTables(std::move(table_data), {}, {}), {}, pool).front();
  EXPECT_NEAR(head.entropy_share, 1, 1e-6);
  EXPECT_NEAR(head.entropy, std::log(2.0) / 2, 1e-6);
}

TEST(Statistics, TheModelsWindowLimitsTheBaseline) {
  ThreadPool pool(2);
  const auto reader = model::Reader::load(test::GoldenModel("mistral").folder());
  const RecordedTables tables(
      model::read(reader, {.text = "the cat sat on the mat and the dog sat too", .pair = {}, .target = {}}, {}, pool));
  const std::int64_t window = tables.recording()->log.attention(Kind::self, 0).rule.window;
  ASSERT_GT(window, 0);
  ASSERT_LT(window, tables.stack(Kind::self).keys);
  for (const HeadStatistics& head : statistics(tables, {}, pool)) {
    EXPECT_LE(head.entropy_share, 1 + 1e-5);
    EXPECT_EQ(head.even.offset(-window), 0);
    EXPECT_GT(head.even.offset(1 - window), 0);
  }
}

TEST(Statistics, ProgressIsReportedInOrderAndItsExceptionStopsTheWork) {
  ThreadPool pool(2);
  const InMemoryTables tables(RandomRows{.layers = 10, .heads = 10}.table_data(), {}, {});
  std::int64_t last = -1;
  static_cast<void>(statistics(tables,
                               {.progress =
                                    [&](std::int64_t done, std::int64_t total) {
                                      EXPECT_EQ(total, 100);
                                      EXPECT_GT(done, last);
                                      last = done;
                                    }},
                               pool));
  EXPECT_EQ(last, 100);
  struct Enough {};
  EXPECT_THROW(
      static_cast<void>(statistics(tables, {.progress = [](std::int64_t, std::int64_t) { throw Enough(); }}, pool)),
      Enough);
}

TEST(Statistics, RejectsAMissingKind) {
  ThreadPool pool(1);
  const InMemoryTables tables(RandomRows{}.table_data(), {}, {});
  EXPECT_THROW(static_cast<void>(statistics(tables, {.kind = Kind::cross}, pool)), std::invalid_argument);
}

TEST(TokenSets, SpecialTokensAreRecognisedByNameToo) {
  for (const char* name : {"[CLS]", "[SEP]", "</s>", "<s>", "<|endoftext|>"}) EXPECT_TRUE(is_special(token(name)));
  for (const char* name : {"[", "]", "[]", "[a]", "<", ">", "<0x0A>", "cls"}) EXPECT_FALSE(is_special(token(name)));
}

TEST(TokenSets, PunctuationIsRecognisedInSeveralLanguages) {
  for (const char* mark : {".", ",", " ...", "##-", "。", "，", "«", "؟", "—", "\""})
    EXPECT_TRUE(is_punctuation(token(mark))) << mark;
  for (const char* word : {"", " ", "a.", "你", "[SEP]", "##s", "1", "é"})
    EXPECT_FALSE(is_punctuation(token(word))) << word;
}

TEST(TokenSets, RepeatsAreEarlierEqualTokensInTheWindow) {
  std::vector<text::Token> tokens;
  for (const char* name : {"[SEP]", "a", "b", "a", "[SEP]", "a"}) tokens.push_back(token(name));
  const Repeats repeats(tokens);
  EXPECT_EQ(std::vector(repeats.before(5).begin(), repeats.before(5).end()), (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(repeats.before(5, 2, 4).size(), 1U);
  EXPECT_EQ(repeats.before(5, 2, 3).size(), 0U);
  EXPECT_TRUE(repeats.before(1).empty());
  EXPECT_TRUE(repeats.before(4).empty());  // special
}

}  // namespace
}  // namespace attn::insight
