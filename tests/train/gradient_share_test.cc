// tests/train/gradient_share_test.cc - splitting batches over ranks, and sums over them.
#include "train/gradient_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/thread_ranks.h"

namespace attn::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Sequences of these lengths; tokens count from 0, their labels from 100, source tokens from 500.
TrainingBatch batch_of(const std::vector<std::int64_t>& lengths, const std::vector<std::int64_t>& sources = {}) {
  TrainingBatch batch;
  std::int32_t next = 0, next_source = 500;
  for (const std::int64_t length : lengths) {
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < length; ++i) {
      batch.labels.push_back(100 + next);
      ids.push_back(next++);
    }
    batch.add(ids);
  }
  for (const std::int64_t length : sources) {
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < length; ++i) ids.push_back(next_source++);
    batch.add_source(ids);
  }
  return batch;
}

// Number of sequences per rank; every rank gets at least one.
std::vector<std::int64_t> counts(const TrainingBatch& batch, int size) {
  std::vector<std::int64_t> all;
  for (int r = 0; r < size; ++r) all.push_back(std::ssize(share_of(batch, r, size).batch.starts) - 1);
  return all;
}

TEST(BatchShare, OneRankHasTheWholeBatch) {
  const TrainingBatch batch = batch_of({2, 1, 3}, {1, 4, 2});
  const BatchShare share = share_of(batch, 0, 1);
  EXPECT_EQ(share.batch.ids, batch.ids);
  EXPECT_EQ(share.batch.starts, batch.starts);
  EXPECT_EQ(share.batch.labels, batch.labels);
  EXPECT_EQ(share.batch.source, batch.source);
  EXPECT_EQ(share.batch.source_starts, batch.source_starts);
  EXPECT_EQ(share.part.first_sequence, 0);
  EXPECT_EQ(share.part.labels, 6);
}

TEST(BatchShare, LaterRanksKnowTheirOffset) {
  TrainingBatch batch = batch_of({2, 1, 3, 2}, {1, 4, 2, 1});
  batch.labels[7] = nn::kNoLabel;
  const BatchShare share = share_of(batch, 1, 2);
  EXPECT_THAT(share.batch.ids, ElementsAre(3, 4, 5, 6, 7));
  EXPECT_THAT(share.batch.starts, ElementsAre(0, 3, 5));
  EXPECT_THAT(share.batch.labels, ElementsAre(103, 104, 105, 106, nn::kNoLabel));
  EXPECT_THAT(share.batch.source, ElementsAre(505, 506, 507));
  EXPECT_THAT(share.batch.source_starts, ElementsAre(0, 2, 3));
  EXPECT_EQ(share.part.first_sequence, 2);
  EXPECT_EQ(share.part.first_row, 3);
  EXPECT_EQ(share.part.first_source_row, 5);
  EXPECT_EQ(share.part.labels, 7) << "of the whole batch";
}

TEST(BatchShare, LabelsOfSequencesGoWithThem) {
  TrainingBatch batch = batch_of({3, 3, 3});
  batch.labels = {7, 8, 9};
  EXPECT_THAT(share_of(batch, 0, 3).batch.labels, ElementsAre(7));
  EXPECT_THAT(share_of(batch, 2, 3).batch.labels, ElementsAre(9));
}

TEST(BatchShare, RanksGetSimilarNumbersOfTokens) {
  EXPECT_THAT(counts(batch_of({5, 5, 5, 5, 5, 5}), 3), ElementsAre(2, 2, 2));
  EXPECT_THAT(counts(batch_of({12, 1, 1, 1, 1, 1, 1, 6}), 2), ElementsAre(1, 7));
  EXPECT_THAT(counts(batch_of({1, 1, 1, 1, 1, 1, 6, 12}), 2), ElementsAre(7, 1));
  EXPECT_THAT(counts(batch_of({1, 1, 1, 100}), 2), ElementsAre(3, 1));
  EXPECT_THAT(counts(batch_of({1, 1, 1, 1}, {9, 1, 1, 1}), 2), ElementsAre(1, 3)) << "source tokens count too";
}

TEST(BatchShare, NoRankIsWithoutASequenceAndNoSequenceIsLost) {
  EXPECT_THAT(counts(batch_of({100, 1, 1, 1}), 4), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(counts(batch_of({1, 1, 1, 100}), 4), ElementsAre(1, 1, 1, 1));
  for (int size = 1; size <= 7; ++size) {
    const TrainingBatch batch = batch_of({3, 9, 1, 1, 20, 2, 5});
    std::vector<std::int32_t> ids;
    for (int r = 0; r < size; ++r) {
      const BatchShare share = share_of(batch, r, size);
      ASSERT_FALSE(share.batch.ids.empty()) << r << " of " << size;
      ids.insert(ids.end(), share.batch.ids.begin(), share.batch.ids.end());
    }
    EXPECT_EQ(ids, batch.ids) << size;
  }
}

TEST(BatchShare, MoreRanksThanSequencesAreRefused) {
  try {
    share_of(batch_of({4, 4}), 0, 3);
    FAIL() << "shared";
  } catch (const std::invalid_argument& problem) {
    EXPECT_THAT(problem.what(), HasSubstr("2 sequences cannot be split over 3 ranks"));
  }
}

// Enough numbers for two buckets; integers, so that any order of addition gives the same sum.
TEST(BatchShare, GradientsAreSummedAcrossBuckets) {
  test::on_ranks(3, [](Ranks& ranks) {
    nn::Parameters parameters;
    parameters.vector("small", 5);
    parameters.matrix("large", 3000, 1500);
    parameters.vector("last", 7);
    const auto number = [](std::int64_t n, int rank) { return static_cast<float>((n * 31 + rank * 17) % 1009); };
    std::int64_t n = 0;
    for (nn::Parameter& p : parameters.all())
      for (std::int64_t i = 0; i < p.size(); ++i) p.gradient.data()[i] = number(n++, ranks.rank());
    sum_gradients(ranks, parameters);
    n = 0;
    std::int64_t wrong = 0;
    for (const nn::Parameter& p : parameters.all()) {
      for (std::int64_t i = 0; i < p.size(); ++i, ++n) {
        wrong += p.gradient.data()[i] == number(n, 0) + number(n, 1) + number(n, 2) ? 0 : 1;
      }
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(n, 4'500'012);
  });
}

TEST(BatchShare, LossesAreAddedInOrderByAnyNumberOfRanks) {
  const auto loss = [](std::size_t n) {
    return nn::Loss{.sum = 1.0 / static_cast<double>(3 * n + 1) * (n % 2 == 0 ? 1 : 1e9), .counted = 2, .right = 1};
  };
  nn::Loss expected;
  for (std::size_t n = 0; n < 7; ++n) expected += loss(n);
  for (const int size : {1, 2, 3, 5, 9}) {
    test::on_ranks(size, [&](Ranks& ranks) {
      const std::optional<nn::Loss> all = shared_loss(ranks, 7, [&](std::size_t n) { return std::optional(loss(n)); });
      ASSERT_TRUE(all);
      EXPECT_EQ(all->sum, expected.sum);
      EXPECT_EQ(all->counted, 14);
      EXPECT_EQ(all->right, 7);
    });
  }
}

TEST(BatchShare, OneRankThatStopsStopsAll) {
  test::on_ranks(3, [](Ranks& ranks) {
    const std::optional<nn::Loss> all = shared_loss(ranks, 7, [&](std::size_t n) {
      return n == 4 ? std::nullopt : std::optional(nn::Loss{.sum = 1, .counted = 1});
    });
    EXPECT_FALSE(all);
  });
}

TEST(BatchShare, RankWithOtherFactsIsNamedOnAll) {
  test::on_ranks(4, [](Ranks& ranks) {
    const std::string batch = ranks.rank() >= 2 ? "8" : "4";
    const std::string said = difference(ranks, {{"batch", batch}, {"length", "12"}, {"name", "\xff"}});
    EXPECT_THAT(said, HasSubstr("rank 2"));
    EXPECT_THAT(said, HasSubstr("batch is 8 there and 4 on rank 0"));
    EXPECT_THAT(said, testing::Not(HasSubstr("length")));
    EXPECT_EQ(difference(ranks, {{"batch", "4"}}), "");
  });
}

}  // namespace
}  // namespace attn::train
