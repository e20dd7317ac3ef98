#include "insight/statistics/head_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "insight/statistics/induction.h"
#include "tests/model/families/golden_support.h"

namespace attn::insight {
namespace {

using testing::HasSubstr;

HeadStatistics head_with(double previous, double even, double sink, double entropy_share) {
  HeadStatistics head;
  head.queries = head.keys = 20;
  head.shares.offsets[kFarthestOffset - 1] = previous;
  head.even.offsets[kFarthestOffset - 1] = even;
  head.shares.first = sink;
  head.entropy_share = entropy_share;
  return head;
}

HeadReport report_of(const HeadStatistics& head, const nn::Matrix& induction = {}) {
  return report({head}, induction).front();
}

TEST(HeadTypes, ClearnessGoesFromTheBaselineToOne) {
  EXPECT_EQ(clearness(0.2, 0.2), 0);
  EXPECT_EQ(clearness(0.1, 0.2), 0);
  EXPECT_DOUBLE_EQ(clearness(0.6, 0.2), 0.5);
  EXPECT_EQ(clearness(1, 1), 0);
}

TEST(HeadTypes, AShareIsNamedOnlyFarAboveItsBaseline) {
  EXPECT_EQ(report_of(head_with(0.5, 0.05, 0, 0.4)).types.size(), 1U);
  EXPECT_EQ(report_of(head_with(0.5, 0.33, 0, 0.4)).types.size(), 0U);
}

TEST(HeadTypes, TheScoreOnRandomTokensDecidesAboutInduction) {
  HeadStatistics head = head_with(0, 0, 0, 0.5);
  head.shares.induction = 0.9;  // what the text shows
  head.induction_queries = 9;
  nn::Matrix scores(1, 1);
  scores.data()[0] = 0.1F;
  EXPECT_TRUE(report_of(head, scores).types.empty());
  EXPECT_EQ(report_of(head).types.front().name, "induction");
  scores.data()[0] = 0.7F;
  head.induction_queries = 0;
  EXPECT_THAT(report_of(head, scores).types.front().reason, HasSubstr("random tokens that occur twice"));
}

TEST(HeadTypes, TooFewRepetitionsInATextNameNothing) {
  HeadStatistics head = head_with(0, 0, 0, 0.5);
  head.shares.duplicate = head.shares.induction = 1;
  head.duplicate_queries = head.induction_queries = kLeastQueries - 1;
  EXPECT_TRUE(report_of(head).types.empty());
}

TEST(HeadTypes, RestingHeadsComeLastAndTiesStayInOrder) {
  const std::vector<HeadReport> reports =
      report({head_with(0, 0, 0.95, 0.1), head_with(0, 0, 0, 0.99), head_with(0, 0, 0.1, 0.6),
              head_with(0.9, 0, 0, 0.2), head_with(0, 0, 0.1, 0.6), head_with(0.5, 0, 0.5, 0.2)},
             {});
  EXPECT_THAT(ranking(reports), testing::ElementsAre(3, 5, 2, 4, 0, 1));
  EXPECT_TRUE(reports[0].resting && reports[1].resting);
  EXPECT_FALSE(reports[5].resting);  // a sink, but also a previous-token head
}

TEST(HeadTypes, AHeadThatAttendsToNothingHasNoInterest) {
  HeadStatistics head = head_with(0, 0, 0, 0);
  head.outgoing = {0, 0};
  EXPECT_EQ(report_of(head).interest, 0);
  EXPECT_EQ(report_of(head).reason(), "it attends to nothing");
  head.shares.first = 0.1;
  head.outgoing = {0.5F, 0.1F};  // the rest goes to a sink without a key
  EXPECT_NEAR(report_of(head).interest, 0.2, 1e-6);
  head.outgoing = {1, 0.9999F};
  EXPECT_DOUBLE_EQ(report_of(head).interest, 0.9);
}

TEST(HeadTypes, ReasonsNeverShowAShareAboveOne) {
  EXPECT_EQ(report_of(head_with(1.4, 0.1, 0, 0.2)).reason(), "1.00 of its attention goes to the token before");
}

TEST(HeadTypes, CrossAttentionHasOffsetsButNoNeighbours) {
  HeadStatistics head = head_with(0.9, 0, 0, 0.2);
  head.name.kind = Kind::cross;
  EXPECT_EQ(report_of(head).types.front().name, "positional offset");
}

TEST(Induction, RandomTokensRepeatAfterTheSpecialTokensAndFitTheModel) {
  for (const std::string& name : test::golden_model_names()) {
    SCOPED_TRACE(name);
    const model::Reader reader = model::Reader::load(test::GoldenModel(name).folder());
    const RepeatedTokens tokens = repeated_tokens(reader);
    const model::Facts& facts = reader.model->facts();
    ASSERT_EQ(std::ssize(tokens.ids), tokens.front + 2 * tokens.length);
    EXPECT_TRUE(facts.max_tokens == 0 || std::ssize(tokens.ids) <= facts.max_tokens);
    for (const std::int32_t id : tokens.ids) EXPECT_LT(id, facts.vocabulary);
    for (std::int64_t n = 0; n < tokens.length; ++n) {
      const auto at = static_cast<std::size_t>(tokens.front + n);
      EXPECT_EQ(tokens.ids[at], tokens.ids[at + static_cast<std::size_t>(tokens.length)]);
      EXPECT_FALSE(reader.tokenizer.tokens(std::span(&tokens.ids[at], 1)).front().special);
    }
  }
}

TEST(Induction, ScoresAreSharesAndDoNotDependOnThreads) {
  const model::Reader reader = model::Reader::load(test::GoldenModel("gpt2").folder());
  ThreadPool one(1), three(3);
  const nn::Matrix a = induction_scores(reader, one), b = induction_scores(reader, three);
  ASSERT_EQ(a.rows(), reader.model->facts().layers);
  ASSERT_EQ(a.columns(), reader.model->facts().heads.heads);
  for (std::int64_t n = 0; n < a.rows() * a.columns(); ++n) {
    EXPECT_EQ(a.data()[n], b.data()[n]);
    EXPECT_GT(a.data()[n], 0);
    EXPECT_LE(a.data()[n], 1);
  }
}

}  // namespace
}  // namespace attn::insight
