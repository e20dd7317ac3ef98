// tests/train/ranks_training_test.cc - several ranks learn what one process learns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/numbers.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/thread_ranks.h"
#include "tests/train/train_support.h"
#include "train/trainer.h"

namespace attn::train {
namespace {

using test::kNan;
using test::SmallTraining;
using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t kSteps = 20, kBatch = 5;

class EveryTaskOnRanks : public testing::TestWithParam<Task> {};
INSTANTIATE_TEST_SUITE_P(All, EveryTaskOnRanks, testing::ValuesIn(test::kTasks),
                         [](const auto& one) { return std::string(name_of(one.param)); });

void learn_as_rank(Trainer& trainer, std::int64_t until) {
  ThreadPool pool(1);
  while (trainer.steps_done() < until) {
    trainer.step(pool);
    if (trainer.steps_done() % 5 == 0) trainer.evaluate(pool);
  }
}

std::vector<float> all_values(Trainer& trainer) {
  std::vector<float> all;
  for (const nn::Parameter& p : trainer.model().parameters().all())
    all.insert(all.end(), p.value.data(), p.value.data() + p.size());
  return all;
}

double largest_difference(const History& a, const History& b) {
  double largest = a.losses.size() == b.losses.size() && a.evaluated.size() == b.evaluated.size() ? 0 : 1e9;
  for (std::size_t n = 0; n < std::min(a.losses.size(), b.losses.size()); ++n)
    largest = std::max(largest, std::abs(static_cast<double>(a.losses[n]) - static_cast<double>(b.losses[n])));
  for (std::size_t n = 0; n < std::min(a.evaluated.size(), b.evaluated.size()); ++n)
    largest = std::max(largest, std::abs(a.evaluated[n].loss - b.evaluated[n].loss));
  return largest;
}

// The final state of each rank.
struct Learned {
  std::vector<float> numbers;
  History history;
};

// Runs use(trainer, ranks) on `size` ranks, each with its own texts and batches, as processes have.
template <typename F>
std::vector<Learned> on_ranks_of(Task task, int size, float dropout, const F& use) {
  std::vector<Learned> all(static_cast<std::size_t>(size));
  test::on_ranks(size, [&](Ranks& ranks) {
    SmallTraining small(task, kBatch);
    small.plan.steps = kSteps;
    ModelSize shape = small.shape();
    shape.dropout = dropout;
    Trainer trainer = small.trainer(shape, small.plan, ranks);
    use(trainer, ranks);
    all[static_cast<std::size_t>(ranks.rank())] = {all_values(trainer), trainer.history()};
  });
  return all;
}

// With dropout, the same numbers are dropped whichever rank trains on their sequence.
TEST_P(EveryTaskOnRanks, LossesAreThoseOfOneProcess) {
  for (const float dropout : {0.0F, 0.2F}) {
    const auto whole = [](Trainer& trainer, Ranks&) { learn_as_rank(trainer, kSteps); };
    const Learned one = on_ranks_of(GetParam(), 1, dropout, whole).front();
    EXPECT_EQ(one.history.losses.size(), kSteps);
    EXPECT_EQ(one.history.evaluated.size(), 4);
    for (int size = 2; size <= 5; ++size) {
      const std::vector<Learned> all = on_ranks_of(GetParam(), size, dropout, whole);
      EXPECT_LT(largest_difference(all[0].history, one.history), 1e-4) << size << " ranks, dropout " << dropout;
      for (const Learned& rank : all) {
        EXPECT_EQ(rank.numbers, all[0].numbers) << size << " ranks";
        EXPECT_EQ(rank.history.losses, all[0].history.losses) << size << " ranks";
      }
    }
  }
}

// Only the order in which gradients are summed differs, so nothing does before the first step.
TEST_P(EveryTaskOnRanks, FirstEvaluationHasTheSameBitsOnAnyNumberOfRanks) {
  const auto evaluated = [](Trainer& trainer, Ranks&) {
    ThreadPool pool(1);
    ASSERT_TRUE(trainer.evaluate(pool));
  };
  const Learned one = on_ranks_of(GetParam(), 1, 0, evaluated).front();
  for (int size = 2; size <= 5; ++size) {
    for (const Learned& rank : on_ranks_of(GetParam(), size, 0, evaluated)) {
      EXPECT_EQ(rank.history.evaluated[0].loss, one.history.evaluated[0].loss) << size;
      EXPECT_EQ(rank.history.evaluated[0].accuracy, one.history.evaluated[0].accuracy) << size;
    }
  }
}

TEST_P(EveryTaskOnRanks, AnotherNumberOfRanksResumesTheCheckpoint) {
  constexpr float kDropout = 0.1F;
  const Learned unbroken =
      on_ranks_of(GetParam(), 1, kDropout, [](Trainer& trainer, Ranks&) { learn_as_rank(trainer, kSteps); }).front();
  const TemporaryFolder folder;
  std::int64_t until = 0;
  History last;
  for (const int size : {1, 3, 2, 5}) {
    const std::int64_t before = until;
    until += kSteps / 4;
    const auto go_on = [&](Trainer& trainer, Ranks& ranks) {
      EXPECT_EQ(trainer.resume(folder.path()), before > 0);
      EXPECT_EQ(trainer.steps_done(), before);
      EXPECT_EQ(trainer.disagreement(), "");
      learn_as_rank(trainer, until);
      if (ranks.rank() == 0) trainer.save(folder.path());
    };
    last = on_ranks_of(GetParam(), size, kDropout, go_on).front().history;
  }
  EXPECT_LT(largest_difference(last, unbroken.history), 1e-4);
}

TEST(TrainingOnRanks, StopOnOneRankStopsAllAfterTheSameStep) {
  on_ranks_of(Task::lm, 3, 0, [](Trainer& trainer, Ranks& ranks) {
    ThreadPool pool(1);
    const auto stop = [&] { return ranks.rank() == 1 && trainer.steps_done() == 2; };  // in the third step
    EXPECT_FALSE(trainer.step(pool, stop).stop);
    EXPECT_FALSE(trainer.step(pool, stop).stop);
    EXPECT_TRUE(trainer.step(pool, stop).stop);
    EXPECT_EQ(trainer.steps_done(), 3);
    EXPECT_THROW(trainer.evaluate(pool, [&] { return ranks.rank() == 0; }), Stopped);
    EXPECT_TRUE(trainer.history().evaluated.empty());
    EXPECT_TRUE(trainer.evaluate(pool, [] { return false; }));
  });
}

// A NaN on one rank stands for any cause of divergence.
TEST(TrainingOnRanks, DivergenceOnOneRankIsDivergenceOnAll) {
  on_ranks_of(Task::mlm, 3, 0, [](Trainer& trainer, Ranks& ranks) {
    ThreadPool pool(1);
    trainer.step(pool);
    nn::Parameter& first = trainer.model().parameters().all()[0];
    if (ranks.rank() == 1) std::fill_n(first.value.data(), first.size(), kNan);
    EXPECT_THROW(trainer.step(pool), Diverged);
    EXPECT_EQ(trainer.steps_done(), 1);
  });
}

TEST(TrainingOnRanks, RankWithDifferentSettingsIsNamed) {
  test::on_ranks(3, [](Ranks& ranks) {
    SmallTraining small(Task::classify);
    const Trainer same = small.trainer(small.shape(), small.plan, ranks);
    EXPECT_EQ(same.disagreement(), "");
    const std::string every = ranks.rank() == 1 ? "7" : "8";
    EXPECT_THAT(same.disagreement({{"every", every}}),
                AllOf(HasSubstr("rank 1 "), HasSubstr("every is 7 there and 8")));
    if (ranks.rank() == 2) small.plan.rate = 0.25;
    const Trainer other = small.trainer(small.shape(), small.plan, ranks);
    EXPECT_THAT(other.disagreement(), AllOf(HasSubstr("rank 2 "), HasSubstr("rate is 0.25 there and 0.005")));
    Trainer begun = small.trainer(small.shape(), {}, ranks);
    if (ranks.rank() == 2) begun.model().parameters().all().back().value.data()[0] += 1;
    EXPECT_THAT(begun.disagreement(), AllOf(HasSubstr("rank 2 "), HasSubstr("all numbers")));
  });
}

TEST(TrainingOnRanks, MoreRanksThanSequencesAreRefusedByAll) {
  test::on_ranks(5, [](Ranks& ranks) {
    const SmallTraining small(Task::lm, 4);
    Trainer trainer = small.trainer(small.shape(), small.plan, ranks);
    ThreadPool pool(1);
    EXPECT_THROW(trainer.step(pool), std::invalid_argument);
  });
}

}  // namespace
}  // namespace attn::train
