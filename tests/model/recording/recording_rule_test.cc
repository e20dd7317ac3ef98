// Rules of models that ran outside attnscope: weights equal the textbook formula and survive a round trip through a
// file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "attn/attention.h"
#include "model/files/safetensors.h"
#include "model/recording/recording_file.h"
#include "tests/support/errors.h"
#include "tests/support/matrix.h"
#include "tests/support/reference.h"
#include "tests/support/temporary_folder.h"

namespace attn::model {
namespace {

using test::argument_error;
using test::random_matrix;
using test::shared_matrix;
using testing::HasSubstr;

constexpr std::int64_t kRuleHeads = 4, kRuleKeyHeads = 2, kRuleWidth = 8;

Options options_of(const Rule& rule) {
  Options options;
  options.mask = rule.mask();
  options.scale = rule.scale;
  options.softcap = rule.softcap;
  if (rule.distance_bias) options.bias = rule.distance_bias->view();
  if (rule.sink) options.sink = {rule.sink->data(), {rule.sink->columns()}};
  return options;
}

Inputs inputs_of(const AttentionRecord& a) {
  return {a.q_heads(0, a.queries), a.k_heads(0, a.keys), a.k_heads(0, a.keys)};
}

// An attention with this many queries and keys; lse comes from attention().
AttentionRecord record_of(Rule rule, Kind kind, Shape<2> size, ThreadPool& pool) {
  AttentionRecord a;
  a.kind = kind;
  a.shape = {kRuleHeads, kRuleKeyHeads, kRuleWidth};
  a.rule = std::move(rule);
  a.queries = size[0];
  a.keys = size[1];
  a.q = random_matrix(a.queries, a.shape.query_columns(), 1);
  a.k = random_matrix(a.keys, a.shape.key_columns(), 2);
  a.lse = nn::Matrix(kRuleHeads, a.queries);
  nn::Matrix out(a.queries * kRuleHeads, kRuleWidth);
  attention(inputs_of(a), options_of(a.rule), {out.data(), {1, kRuleHeads, a.queries, kRuleWidth}},
            {a.lse.data(), {1, kRuleHeads, a.queries}}, pool);
  return a;
}

struct Case {
  std::string name;
  Rule rule;
  Kind kind = Kind::self;
  Shape<2> size{19, 19};
};

std::vector<Case> cases() {
  const auto table = parse_mask("~causal | window(2)");
  return {
      {"Softcap", {.causal = true, .scale = 0.7F, .softcap = 1.5F}},
      {"WindowToBothSides", {.window = 3, .scale = 0.5F}},
      {"DocumentsBesides", {.causal = true, .also = parse_mask("document(0,0,0,0,0,1,1,1,1,1,1,1,2,2,2,2,2,2,2)")}},
      {"AMaskOfNoRule", {.scale = 0.3F, .also = table}},
      {"BiasByDistance", {.causal = true, .distance_bias = shared_matrix(kRuleHeads, 37, 3)}},
      {"OneBiasForAllHeads", {.distance_bias = shared_matrix(1, 19 + 30 - 1, 4)}, Kind::cross, {19, 30}},
      {"Sink", {.causal = true, .window = 5, .sink = shared_matrix(1, kRuleHeads, 5)}},
      {"AllAtOnce",
       {.causal = true,
        .window = 9,
        .scale = 0.6F,
        .softcap = 2,
        .also = table,
        .distance_bias = shared_matrix(kRuleHeads, 37, 6),
        .sink = shared_matrix(1, kRuleHeads, 7)}},
  };
}

class RecordedRule : public testing::TestWithParam<Case> {
 protected:
  AttentionRecord record() { return record_of(GetParam().rule, GetParam().kind, GetParam().size, pool_); }

  void expect_textbook(const AttentionLog& log) {
    const AttentionRecord& a = log.attention(GetParam().kind, 0);
    const test::Textbook book = test::textbook(inputs_of(a), options_of(GetParam().rule));
    nn::Matrix all(kRuleHeads * a.queries, a.keys);
    for (std::int64_t head = 0; head < kRuleHeads; ++head) {
      log.weights({a.kind, 0, head, 0}, {}, nn::rows_of(all.view(), head * a.queries, a.queries), pool_);
    }
    EXPECT_TRUE(test::weights_agree(book, {all.data(), {1, kRuleHeads, a.queries, a.keys}}));
  }

  ThreadPool pool_{2};
};

TEST_P(RecordedRule, MatchesTheTextbook) {
  AttentionLog log;
  log.insert(record());
  expect_textbook(log);
}

TEST_P(RecordedRule, ComesBackFromAFile) {
  const test::TemporaryFolder folder;
  Recording recording;
  recording.log.insert(record());
  const bool cross = GetParam().kind == Kind::cross;
  recording.tokens.resize(static_cast<std::size_t>(GetParam().size[1]));
  if (cross) recording.target.resize(static_cast<std::size_t>(GetParam().size[0]));
  recording.written = recording.target;
  save_recording(recording, folder / "x.attn");
  EXPECT_EQ(SafeTensors::open(folder / "x.attn").metadata().at("format_version"), "3");
  const Recording after = load_recording(folder / "x.attn");
  expect_textbook(after.log);
  const Rule &before = GetParam().rule, &rule = after.log.attention(GetParam().kind, 0).rule;
  EXPECT_EQ(rule.mask().text(), before.mask().text());
  EXPECT_EQ(rule.softcap, before.softcap);
  EXPECT_EQ(rule.distance_bias == nullptr, before.distance_bias == nullptr);
  EXPECT_EQ(rule.sink == nullptr, before.sink == nullptr);
}

INSTANTIATE_TEST_SUITE_P(AttentionLog, RecordedRule, testing::ValuesIn(cases()),
                         [](const auto& one) { return one.param.name; });

TEST(RecordedRules, ABiasThatLayersShareIsStoredOnce) {
  ThreadPool pool(1);
  const test::TemporaryFolder folder;
  const Rule rule{.distance_bias = shared_matrix(kRuleHeads, 11, 8)};
  Recording recording;
  for (const std::int64_t layer : {0, 1}) {
    AttentionRecord a = record_of(rule, Kind::self, {6, 6}, pool);
    a.layer = layer;
    recording.log.insert(std::move(a));
  }
  recording.tokens.resize(6);
  save_recording(recording, folder / "x.attn");
  EXPECT_EQ(SafeTensors::open(folder / "x.attn").tensors().count("self.1.distance_bias"), 0U);
  const Recording after = load_recording(folder / "x.attn");
  EXPECT_EQ(after.log.attention(Kind::self, 0).rule.distance_bias,
            after.log.attention(Kind::self, 1).rule.distance_bias);
}

TEST(RecordedRules, APlainRuleIsWrittenForOlderPrograms) {
  ThreadPool pool(1);
  const test::TemporaryFolder folder;
  Recording recording;
  recording.log.insert(record_of({.causal = true, .window = 3, .scale = 0.4F}, Kind::self, {6, 6}, pool));
  recording.tokens.resize(6);
  save_recording(recording, folder / "x.attn");
  EXPECT_EQ(SafeTensors::open(folder / "x.attn").metadata().at("format_version"), "2");
}

TEST(RecordedRules, MismatchedPartsAreRefused) {
  ThreadPool pool(1);
  const auto refusal = [&](const auto& spoil) {
    AttentionRecord a = record_of({}, Kind::self, {6, 6}, pool);
    spoil(a);
    return argument_error([&] { AttentionLog().insert(std::move(a)); });
  };
  EXPECT_EQ(refusal([](AttentionRecord&) {}), "nothing was thrown");
  EXPECT_THAT(refusal([](AttentionRecord& a) { a.queries = 7; }), HasSubstr("q is [6, 32]; [7, 32] is needed"));
  EXPECT_THAT(refusal([](AttentionRecord& a) { a.shape.key_heads = 3; }), HasSubstr("cannot share 3 key heads"));
  EXPECT_THAT(refusal([](AttentionRecord& a) { a.lse = nn::Matrix(3, 6); }), HasSubstr("lse is [3, 6]; [4, 6]"));
  EXPECT_THAT(refusal([](AttentionRecord& a) { a.rule.distance_bias = shared_matrix(4, 12, 1); }),
              HasSubstr("distance_bias is [4, 12]; [1, 11] is needed"));
  EXPECT_THAT(refusal([](AttentionRecord& a) { a.rule.distance_bias = shared_matrix(2, 11, 1); }),
              HasSubstr("distance_bias is [2, 11]; [4, 11] is needed"));
  EXPECT_THAT(refusal([](AttentionRecord& a) { a.rule.sink = shared_matrix(1, 3, 1); }), HasSubstr("sink is [1, 3]"));
  EXPECT_THAT(refusal([](AttentionRecord& a) { a.rule.also = parse_mask("document(0,1)"); }), HasSubstr("document"));
  EXPECT_THAT(refusal([](AttentionRecord& a) { a.rule.also = parse_mask("table(1/0/1/0)"); }),
              HasSubstr("the same for every head"));
}

}  // namespace
}  // namespace attn::model
