#include "insight/tables/value_weighted.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "insight/tables/words.h"
#include "model/recording/recording.h"
#include "tests/insight/random_rows.h"

namespace attn::insight {
namespace {

using test::refusal_of;

std::unique_ptr<AttentionTables> bert_tables(model::Keep keep, ThreadPool& pool) {
  const model::Reader reader = model::Reader::load(std::string(ATTNSCOPE_GOLDEN) + "/models/bert");
  const model::Text text{"The quick brown fox jumps over the lazy dog.", std::nullopt, std::nullopt};
  return std::make_unique<RecordedTables>(model::read(reader, text, keep, pool));
}

TEST(ValueWeighted, EveryWindowIsWeightTimesValueNorm) {
  ThreadPool pool(2);
  const HeadId head{Kind::self, 1, 2};
  const nn::Matrix raw = bert_tables({}, pool)->weights(head, pool);
  const std::unique_ptr<AttentionTables> weighted = value_weighted(bert_tables({.value_norms = true}, pool));
  const nn::Matrix& norms = weighted->recording()->log.attention(Kind::self, 1).value_norms;
  nn::Matrix part(3, 4);
  weighted->weights(head, {2, 5}, part.view(), pool);
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 4; ++j)
      EXPECT_FLOAT_EQ(part.row(i)[j], raw.row(2 + i)[5 + j] * norms.row(2)[5 + j]) << i << " " << j;
}

TEST(ValueWeighted, KeepsTokensAndShape) {
  ThreadPool pool(2);
  const std::unique_ptr<AttentionTables> plain = bert_tables({}, pool),
                                         weighted = value_weighted(bert_tables({.value_norms = true}, pool));
  EXPECT_EQ(weighted->heads(), plain->heads());
  EXPECT_EQ(weighted->queries(Kind::self).size(), plain->queries(Kind::self).size());
  EXPECT_EQ(weighted->causal({}), plain->causal({}));
}

TEST(ValueWeighted, NumbersAreNormsBetweenWordsTooAndAreNotWeightedAgain) {
  ThreadPool pool(2);
  const std::shared_ptr<const AttentionTables> plain = bert_tables({.value_norms = true}, pool),
                                               weighted = value_weighted(plain);
  EXPECT_EQ(plain->numbers(), Numbers::weights);
  EXPECT_EQ(weighted->numbers(), Numbers::norms);
  EXPECT_EQ(merged_words(plain)->numbers(), Numbers::weights);
  EXPECT_EQ(merged_words(weighted)->numbers(), Numbers::norms);
  const std::string said = refusal_of([&] { value_weighted(weighted); });
  EXPECT_NE(said.find("weights times norms already"), std::string::npos) << said;
}

TEST(ValueWeighted, ATableHasNoValues) {
  const std::string said = refusal_of([] {
    value_weighted(std::make_unique<InMemoryTables>(test::RandomRows{}.table_data(), std::vector<std::string>{},
                                                    std::vector<std::string>{}));
  });
  EXPECT_NE(said.find("a table of weights has no values"), std::string::npos) << said;
}

TEST(ValueWeighted, RejectsARecordingWithoutNorms) {
  ThreadPool pool(2);
  const std::string said = refusal_of([&] { value_weighted(bert_tables({}, pool)); });
  EXPECT_NE(said.find("this recording has no value norms"), std::string::npos) << said;
}

}  // namespace
}  // namespace attn::insight
