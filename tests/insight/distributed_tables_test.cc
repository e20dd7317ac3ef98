// Several processes find the same in a distributed recording as one process finds in the whole.
#include "insight/tables/distributed_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "attn/ring.h"
#include "model/recording/recording_file.h"
#include "tests/support/matrix.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/thread_ranks.h"

namespace attn::insight {
namespace {

using test::on_ranks;

model::Recording recording_to_examine(const std::string& name, ThreadPool& pool) {
  const model::Reader reader = model::Reader::load(std::filesystem::path(ATTNSCOPE_GOLDEN) / "models" / name);
  model::Text text;
  text.text = "The fox jumps over the fox, and over it again.";
  if (reader.model->facts().form == model::Form::encoder_decoder) text.target = "It was asleep, was it not?";
  return model::read(reader, text, {}, pool);
}

void expect_same(const HeadStatistics& found, const HeadStatistics& right) {
  SCOPED_TRACE(to_string(right.name));
  EXPECT_EQ(found.name, right.name);
  EXPECT_EQ(found.queries, right.queries);
  EXPECT_EQ(found.keys, right.keys);
  EXPECT_EQ(found.entropy, right.entropy);
  EXPECT_EQ(found.entropy_share, right.entropy_share);
  EXPECT_EQ(found.distance, right.distance);
  for (const ShareName& name : kShareNames) {
    EXPECT_EQ(found.shares.*name.share, right.shares.*name.share) << name.name;
    EXPECT_EQ(found.even.*name.share, right.even.*name.share) << name.name;
  }
  EXPECT_EQ(found.shares.offsets, right.shares.offsets);
  EXPECT_EQ(found.received, right.received);
  EXPECT_EQ(found.outgoing, right.outgoing);
  EXPECT_EQ(found.diagonal, right.diagonal);
  EXPECT_EQ(found.duplicate_queries, right.duplicate_queries);
  EXPECT_EQ(found.induction_queries, right.induction_queries);
}

void expect_same(const std::optional<CheckFailure>& found, const std::optional<CheckFailure>& right) {
  EXPECT_EQ(found ? to_string(*found) : "none", right ? to_string(*right) : "none");
}

void expect_same(const CheckResult& found, const CheckResult& right) {
  EXPECT_EQ(found.heads, right.heads);
  EXPECT_EQ(found.rows, right.rows);
  EXPECT_EQ(found.all_rows, right.all_rows);
  EXPECT_EQ(found.deviation, right.deviation);
  expect_same(found.failure, right.failure);
  expect_same(found.no_weight, right.no_weight);
}

// The recording goes through a file, so that all ranks have exactly the numbers of the single process.
class Examine : public testing::TestWithParam<const char*> {
 protected:
  void expect_same_of_ranks(const model::Recording& recording, const CheckOptions& check = {},
                            const StatisticsOptions& asked = {}) {
    model::save_recording(recording, folder_ / "x.attn");
    const RecordedTables whole(model::load_recording(folder_ / "x.attn"));
    const CheckResult checked = check_weights(whole, check, pool_);
    const std::vector<HeadStatistics> right = statistics(whole, asked, pool_);
    for (int count = 1; count <= 4; ++count) {
      SCOPED_TRACE(std::to_string(count) + " ranks");
      on_ranks(count, [&](Ranks& ranks) {
        ThreadPool pool(1 + ranks.rank() % 2);  // ranks may have different numbers of threads
        const DistributedTables part(model::load_recording(folder_ / "x.attn", ranks));
        const Findings found = examine(ranks, part, {.check = check, .statistics = asked}, pool);
        expect_same(found.check, checked);
        ASSERT_EQ(found.statistics.size(), ranks.rank() == 0 ? right.size() : 0U);
        for (std::size_t n = 0; n < found.statistics.size(); ++n) expect_same(found.statistics[n], right[n]);
      });
    }
  }

  ThreadPool pool_{2};
  test::TemporaryFolder folder_;
};

TEST_P(Examine, FindsWhatOneProcessFinds) { expect_same_of_ranks(recording_to_examine(GetParam(), pool_)); }

INSTANTIATE_TEST_SUITE_P(Golden, Examine, testing::Values("bert", "gpt2", "mistral", "t5", "bart"));

TEST_F(Examine, StatisticsOfOneKindButChecksOfAll) {
  expect_same_of_ranks(recording_to_examine("t5", pool_), {}, {.beyond = 3, .kind = Kind::cross});
}

TEST_F(Examine, ReportsAFailureByItsNameInTheWhole) {
  model::Recording recording = recording_to_examine("t5", pool_);
  const_cast<model::AttentionRecord&>(recording.log.attention(Kind::decoder, 1)).lse.row(2)[4] += 1;
  const_cast<model::AttentionRecord&>(recording.log.attention(Kind::cross, 0)).lse.row(1)[2] -= 3;
  expect_same_of_ranks(recording);
}

TEST_F(Examine, SamplesTheSameRowsOfManyWeights) {
  model::Recording recording;
  model::AttentionRecord a;
  a.shape = {3, 1, 4};
  a.rule.causal = true;
  a.queries = a.keys = 300;
  a.q = test::random_matrix(300, 12, 1);
  a.k = test::random_matrix(300, 4, 2);
  a.lse = nn::Matrix(3, 300);
  recording.log.insert(std::move(a));
  recording.tokens.resize(300);
  expect_same_of_ranks(recording, {.most_weights = 100'000});
}

TEST_F(Examine, KeepsTheRulesOfModelsThatRanElsewhere) {
  model::Recording recording;
  model::AttentionRecord a;
  a.shape = {4, 2, 4};
  a.rule = {.causal = true,
            .window = 9,
            .scale = 0.6F,
            .softcap = 1.5F,
            .distance_bias = test::shared_matrix(4, 2 * 21 - 1, 3),
            .sink = test::shared_matrix(1, 4, 4)};
  a.queries = a.keys = 21;
  a.q = test::random_matrix(21, 16, 1);
  a.k = test::random_matrix(21, 8, 2);
  a.lse = test::random_matrix(4, 21, 5);
  recording.log.insert(std::move(a));
  recording.tokens.resize(21);
  expect_same_of_ranks(recording);
}

TEST_F(Examine, ProgressCountsTheHeadsOfAllRanks) {
  model::save_recording(recording_to_examine("bert", pool_), folder_ / "x.attn");
  on_ranks(3, [&](Ranks& ranks) {
    ThreadPool pool(1);
    const DistributedTables part(model::load_recording(folder_ / "x.attn", ranks));
    std::int64_t last = -1;
    const auto progress = [&](std::int64_t done, std::int64_t total) {
      EXPECT_EQ(total, std::ssize(part.heads()));
      EXPECT_GE(done, last);
      last = done;
    };
    EXPECT_TRUE(examine(ranks, part, {.progress = progress}, pool).statistics.empty());
    EXPECT_EQ(last, std::ssize(part.heads()));
  });
}

}  // namespace
}  // namespace attn::insight
