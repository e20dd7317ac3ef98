// Recordings as files: a round trip keeps every bit.
#include "model/recording/recording_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/files/safetensors.h"
#include "model/recording/recording.h"
#include "tests/model/families/golden_support.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace attn::model {
namespace {

using test::error_of;
using test::kKeepEverything;
using testing::HasSubstr;

Recording read_golden(const std::string& model, Keep keep, ThreadPool& pool) {
  const Reader reader = Reader::load(std::filesystem::path(ATTNSCOPE_GOLDEN) / "models" / model);
  Text text;
  text.text = "The fox — 日😀 jumps.";
  const Form form = reader.model->facts().form;
  if (form == Form::encoder_decoder) text.target = "Was it asleep?";
  if (form == Form::encoder) text.pair = "Was it asleep?";
  return read(reader, text, keep, pool);
}

bool same_bits(View<const float, 2> a, View<const float, 2> b) {
  if (a.shape != b.shape) return false;
  for (std::int64_t i = 0; i < a.shape[0]; ++i)
    if (std::memcmp(a.at(i), b.at(i), static_cast<std::size_t>(a.shape[1]) * sizeof(float)) != 0) return false;
  return true;
}

// The first `rows` rows; a matrix may have spare ones.
bool same_rows(const nn::Matrix& a, const nn::Matrix& b, std::int64_t rows) {
  if (a.empty() || b.empty()) return a.empty() == b.empty();
  return same_bits(nn::rows_of(a.view(), 0, rows), nn::rows_of(b.view(), 0, rows));
}

void expect_same_weights(const AttentionLog& a, const AttentionLog& b, ThreadPool& pool) {
  ASSERT_EQ(a.attentions().size(), b.attentions().size());
  for (const AttentionRecord& one : a.attentions()) {
    EXPECT_EQ(one.rule.mask().text(), b.attention(one.kind, one.layer).rule.mask().text());
    for (std::int64_t head = 0; head < one.shape.heads; ++head) {
      const AttentionLog::Which which{one.kind, one.layer, head, 0};
      EXPECT_TRUE(same_bits(a.weights(which, pool).view(), b.weights(which, pool).view()))
          << name_of(one.kind) << " layer " << one.layer << " head " << head;
    }
  }
}

void expect_same_tokens(const std::vector<text::Token>& a, const std::vector<text::Token>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].id, b[i].id);
    EXPECT_EQ(a[i].piece, b[i].piece);
    EXPECT_EQ(a[i].text, b[i].text);
    EXPECT_EQ(a[i].span.from, b[i].span.from);
    EXPECT_EQ(a[i].span.to, b[i].span.to);
    EXPECT_EQ(a[i].sequence, b[i].sequence);
    EXPECT_EQ(a[i].word, b[i].word);
    EXPECT_EQ(a[i].special, b[i].special);
  }
}

void expect_same_states(const Recording& a, const Recording& b) {
  for (const bool decoder : {false, true}) {
    const auto& mine = a.log.hidden(decoder);
    const auto& theirs = b.log.hidden(decoder);
    ASSERT_EQ(mine.size(), theirs.size());
    for (std::size_t i = 0; i < mine.size(); ++i) EXPECT_TRUE(same_rows(mine[i], theirs[i], mine[i].rows())) << i;
  }
  EXPECT_TRUE(same_rows(a.hidden, b.hidden, a.hidden.rows()));
  EXPECT_TRUE(same_rows(a.target_hidden, b.target_hidden, a.target_hidden.rows()));
}

class EveryFamily : public testing::TestWithParam<std::string> {
 protected:
  ThreadPool pool_{2};
  test::TemporaryFolder folder_;
};

TEST_P(EveryFamily, RoundTripKeepsEveryBit) {
  const Recording before = read_golden(GetParam(), kKeepEverything, pool_);
  save_recording(before, folder_ / "x.attn");
  EXPECT_EQ(folder_.files(), 1U);
  const Recording after = load_recording(folder_ / "x.attn");

  expect_same_weights(before.log, after.log, pool_);
  for (const AttentionRecord& a : before.log.attentions()) {
    const AttentionRecord& b = after.log.attention(a.kind, a.layer);
    EXPECT_EQ(a.rule.scale, b.rule.scale);
    EXPECT_TRUE(same_rows(a.v, b.v, a.keys));
    EXPECT_TRUE(same_rows(a.x, b.x, a.queries));
    EXPECT_TRUE(same_rows(a.value_norms, b.value_norms, a.shape.heads));
    EXPECT_FALSE(b.v.empty() || b.x.empty() || b.value_norms.empty());
  }
  expect_same_tokens(before.tokens, after.tokens);
  expect_same_tokens(before.target, after.target);
  expect_same_tokens(before.written, after.written);
  expect_same_states(before, after);
  EXPECT_EQ(before.origin.model, after.origin.model);
  EXPECT_EQ(before.origin.type, after.origin.type);
  EXPECT_EQ(before.origin.form, after.origin.form);
  EXPECT_EQ(before.origin.text.text, after.origin.text.text);
  EXPECT_EQ(before.origin.text.pair, after.origin.text.pair);
  EXPECT_EQ(before.origin.text.target, after.origin.text.target);
  EXPECT_TRUE(after.log.keep().values && after.log.keep().hidden);
}

TEST_P(EveryFamily, OnlyKeptPartsComeBack) {
  const Recording before = read_golden(GetParam(), {}, pool_);
  save_recording(before, folder_ / "x.attn");
  const Recording after = load_recording(folder_ / "x.attn");
  expect_same_weights(before.log, after.log, pool_);
  for (const AttentionRecord& a : after.log.attentions())
    EXPECT_TRUE(a.v.empty() && a.x.empty() && a.value_norms.empty());
  EXPECT_TRUE(after.log.hidden().empty() && after.induction.empty());
}

INSTANTIATE_TEST_SUITE_P(RecordingFile, EveryFamily, testing::ValuesIn(test::golden_model_names()),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

class RecordingFile : public testing::Test {
 protected:
  ThreadPool pool_{2};
  test::TemporaryFolder folder_;
};

TEST_F(RecordingFile, TheBiasOfAStackIsStoredOnceAndShared) {
  save_recording(read_golden("t5", {}, pool_), folder_ / "x.attn");
  const SafeTensors file = SafeTensors::open(folder_ / "x.attn");
  EXPECT_EQ(std::ranges::count_if(file.tensors(), [](const auto& t) { return t.first.ends_with(".bias"); }), 2);
  const Recording after = load_recording(folder_ / "x.attn");
  for (const Kind kind : {Kind::self, Kind::decoder}) {
    EXPECT_EQ(after.log.attention(kind, 0).rule.bias, after.log.attention(kind, 1).rule.bias);
    EXPECT_NE(after.log.attention(kind, 0).rule.bias, nullptr);
  }
  EXPECT_EQ(after.log.attention(Kind::cross, 0).rule.bias, nullptr);
}

TEST_F(RecordingFile, OnlyRowsInUseAreWritten) {
  const test::GoldenModel golden("mistral");
  const test::ModelCase& longest = golden.cases().back();
  const std::unique_ptr<Model> model = golden.load();
  Recording recording;
  recording.log = std::move(test::run_in_pieces(*model, longest, pool_).log);
  recording.tokens.resize(longest.ids.size());
  ASSERT_GT(recording.log.attention(Kind::self, 0).lse.columns(), std::ssize(longest.ids));
  save_recording(recording, folder_ / "x.attn");
  const Recording after = load_recording(folder_ / "x.attn");
  EXPECT_EQ(after.log.attention(Kind::self, 0).lse.columns(), std::ssize(longest.ids));
  expect_same_weights(recording.log, after.log, pool_);
}

TEST_F(RecordingFile, InductionScoresComeBack) {
  Recording before = read_golden("gpt2", {}, pool_);
  const AttentionRecord& first = before.log.attention(Kind::self, 0);
  before.induction = nn::Matrix(before.log.layers(Kind::self), first.shape.heads);
  std::fill_n(before.induction.data(), before.induction.rows() * before.induction.columns(), 0.25F);
  save_recording(before, folder_ / "x.attn");
  EXPECT_TRUE(same_rows(before.induction, load_recording(folder_ / "x.attn").induction, before.induction.rows()));
}

TEST_F(RecordingFile, SeveralTextsAtOnceAreRefused) {
  const test::GoldenModel golden("bert");
  const std::unique_ptr<Model> model = golden.load();
  Recording recording;
  recording.log = std::move(test::run_batch(*model, golden.cases(), pool_).log);
  EXPECT_THROW(save_recording(recording, folder_ / "x.attn"), std::invalid_argument);
  EXPECT_THROW(save_recording(Recording(), folder_ / "x.attn"), std::invalid_argument);
  EXPECT_EQ(folder_.files(), 0U);
}

TEST_F(RecordingFile, RowsWithoutATokenAreRefused) {
  Recording recording = read_golden("bert", {}, pool_);
  recording.tokens.pop_back();
  EXPECT_THROW(save_recording(recording, folder_ / "x.attn"), std::invalid_argument);
}

TEST_F(RecordingFile, AFullDiskIsAnError) {
  const Recording recording = read_golden("bert", {}, pool_);
  EXPECT_THAT(error_of([&] { save_recording(recording, "/dev/full"); }).what(), HasSubstr("No space left"));
}

TEST_F(RecordingFile, CancellingLeavesNothing) {
  const Recording recording = read_golden("bert", {}, pool_);
  int calls = 0;
  const auto give_up = [&] {
    if (++calls == 3) throw std::runtime_error("enough");
  };
  EXPECT_THROW(save_recording(recording, folder_ / "x.attn", give_up), std::runtime_error);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(folder_.files(), 0U);
}

// make_recordings.py wrote it from a run of transformers.
TEST_F(RecordingFile, VersionZeroStillLoads) {
  const std::filesystem::path golden = std::filesystem::path(ATTNSCOPE_GOLDEN) / "recordings";
  const Recording recording = load_recording(golden / "version0.attn");
  EXPECT_EQ(recording.tokens.front().text, "[CLS]");
  EXPECT_EQ(recording.tokens.front().id, -1);
  const test::Expected::Table expected = test::Expected(golden / "version0.expected.safetensors").table("self");
  const float* wanted = expected.numbers.data();
  test::Worst worst;
  for (const AttentionRecord& a : recording.log.attentions()) {
    for (std::int64_t head = 0; head < a.shape.heads; ++head) {
      const nn::Matrix table = recording.log.weights({Kind::self, a.layer, head, 0}, pool_);
      for (std::int64_t i = 0; i < table.rows() * table.columns(); ++i)
        worst.see(table.data()[i], *wanted++, "weight", {a.layer, head, i});
    }
  }
  EXPECT_EQ(wanted, expected.numbers.data() + expected.numbers.size());
  EXPECT_LT(worst.off, 2e-6F) << worst.where;
}

}  // namespace
}  // namespace attn::model
