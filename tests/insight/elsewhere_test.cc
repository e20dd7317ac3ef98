// Attention of models that ran elsewhere: traces, checks and baselines follow the recorded rule.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <utility>

#include "attn/attention.h"
#include "insight/paths/trace.h"
#include "insight/statistics/baseline.h"
#include "insight/statistics/check.h"
#include "insight/statistics/statistics.h"
#include "tests/support/matrix.h"

namespace attn::insight {
namespace {

using test::random_matrix;
using test::shared_matrix;

constexpr std::int64_t kRecordTokens = 17, kRecordHeads = 2, kRecordWidth = 8;

// A recording of one layer that obeys the rule; lse comes from attention().
model::Recording recording_of(const model::Rule& rule, ThreadPool& pool) {
  model::AttentionRecord a;
  a.shape = {kRecordHeads, kRecordHeads, kRecordWidth};
  a.rule = rule;
  a.queries = a.keys = kRecordTokens;
  a.q = random_matrix(kRecordTokens, kRecordHeads * kRecordWidth, 1);
  a.k = random_matrix(kRecordTokens, kRecordHeads * kRecordWidth, 2);
  a.lse = nn::Matrix(kRecordHeads, kRecordTokens);
  Options options;
  options.mask = rule.mask();
  options.scale = rule.scale;
  options.softcap = rule.softcap;
  if (rule.distance_bias) options.bias = rule.distance_bias->view();
  if (rule.sink) options.sink = {rule.sink->data(), {kRecordHeads}};
  nn::Matrix out(kRecordHeads * kRecordTokens, kRecordWidth);
  const Inputs in{a.q_heads(0, kRecordTokens), a.k_heads(0, kRecordTokens), a.k_heads(0, kRecordTokens)};
  attention(in, options, {out.data(), {1, kRecordHeads, kRecordTokens, kRecordWidth}},
            {a.lse.data(), {1, kRecordHeads, kRecordTokens}}, pool);
  model::Recording recording;
  recording.log.insert(std::move(a));
  recording.tokens.resize(kRecordTokens);
  return recording;
}

model::Rule everything_at_once() {
  return {.causal = true,
          .window = 9,
          .scale = 0.6F,
          .softcap = 1.5F,
          .distance_bias = shared_matrix(kRecordHeads, 2 * kRecordTokens - 1, 3),
          .sink = shared_matrix(1, kRecordHeads, 4)};
}

TEST(AttentionFromElsewhere, ATraceShowsSoftcapBiasAndSink) {
  ThreadPool pool(1);
  const model::Rule rule = everything_at_once();
  const model::Recording recording = recording_of(rule, pool);
  for (std::int64_t head = 0; head < kRecordHeads; ++head) {
    const nn::Matrix table = recording.log.weights({Kind::self, 0, head, 0}, pool);
    for (std::int64_t i = 0; i < kRecordTokens; ++i) {
      double row = std::exp(rule.sink->row(0)[head]);
      for (std::int64_t j = 0; j < kRecordTokens; ++j) {
        const Trace t = trace(recording, {{Kind::self, 0, head}, i, j}, nullptr, pool);
        EXPECT_NEAR(t.weight, table.row(i)[j], 1e-5) << head << ' ' << i << ' ' << j;
        EXPECT_EQ(t.softcap, 1.5);
        EXPECT_EQ(t.bucket, std::nullopt);
        EXPECT_EQ(t.bias, rule.distance_bias->row(head)[j - i + kRecordTokens - 1]);
        EXPECT_EQ(t.sink, rule.sink->row(0)[head]);
        if (t.allowed) {
          EXPECT_NEAR(t.score, 1.5 * std::tanh(t.dot * t.scale / 1.5) + *t.bias, 1e-12);
          row += std::exp(t.score);
        }
      }
      EXPECT_NEAR(recording.log.attention(Kind::self, 0).lse.row(head)[i], std::log(row), 1e-5);
    }
  }
}

TEST(AttentionFromElsewhere, RowsAndTheirSinkSumToOne) {
  ThreadPool pool(1);
  const RecordedTables tables(recording_of(everything_at_once(), pool));
  const CheckResult check = check_weights(tables, {}, pool);
  EXPECT_FALSE(check.failure) << in_words(check);
  EXPECT_LT(check.deviation, 1e-5);

  model::Rule spoilt = everything_at_once();
  model::Recording recording = recording_of(spoilt, pool);
  model::AttentionLog without;
  model::AttentionRecord a;
  a.shape = {kRecordHeads, kRecordHeads, kRecordWidth};
  a.queries = a.keys = kRecordTokens;
  a.q = random_matrix(kRecordTokens, kRecordHeads * kRecordWidth, 1);
  a.k = random_matrix(kRecordTokens, kRecordHeads * kRecordWidth, 2);
  a.lse = nn::Matrix(kRecordHeads, kRecordTokens);
  std::copy_n(recording.log.attention(Kind::self, 0).lse.data(), kRecordHeads * kRecordTokens, a.lse.data());
  spoilt.sink = nullptr;
  a.rule = spoilt;
  without.insert(std::move(a));
  recording.log = std::move(without);
  EXPECT_TRUE(check_weights(RecordedTables(std::move(recording)), {}, pool).failure);
}

struct VisibleCase {
  const char* name;
  model::Rule rule;
};

class VisibleKeysOfARule : public testing::TestWithParam<VisibleCase> {};

TEST_P(VisibleKeysOfARule, AreTheKeysThatTheMaskAllows) {
  ThreadPool pool(1);
  const RecordedTables tables(recording_of(GetParam().rule, pool));
  const VisibleKeys visible = visible_keys(tables, {Kind::self, 0, 1});
  const Mask mask = GetParam().rule.mask();
  for (std::int64_t i = 0; i < kRecordTokens; ++i) {
    std::int64_t from = kRecordTokens, to = 0;
    for (std::int64_t j = 0; j < kRecordTokens; ++j) {
      if (!mask.allows(0, 1, i, j)) continue;
      from = std::min(from, j);
      to = j + 1;
    }
    ASSERT_EQ(visible.from(i), from) << "query " << i;
    ASSERT_EQ(visible.to(i), to) << "query " << i;
  }
  for (const HeadStatistics& head : statistics(tables, {}, pool)) EXPECT_LE(head.entropy_share, 1 + 1e-5);
}

INSTANTIATE_TEST_SUITE_P(
    AttentionFromElsewhere, VisibleKeysOfARule,
    testing::Values(VisibleCase{"Everything", {}}, VisibleCase{"Causal", {.causal = true}},
                    VisibleCase{"CausalWindow", {.causal = true, .window = 4}},
                    VisibleCase{"WindowToBothSides", {.window = 3}},
                    VisibleCase{"Documents",
                                {.causal = true, .also = parse_mask("document(0,0,0,0,0,1,1,1,1,1,1,2,2,2,2,2,2)")}},
                    VisibleCase{"NotTheFirst", {.also = parse_mask("~prefix(2) | window(1)")}}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace attn::insight
