// tests/train/batch_source_test.cc - the batches that training sees.
#include "train/batch_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tests/support/errors.h"
#include "tests/train/train_support.h"

namespace attn::train {
namespace {

using test::argument_error;
using test::SmallTraining;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::span<const std::int32_t> sequence(const std::vector<std::int32_t>& ids, const std::vector<std::int64_t>& starts,
                                       std::size_t s) {
  return std::span(ids).subspan(static_cast<std::size_t>(starts[s]),
                                static_cast<std::size_t>(starts[s + 1] - starts[s]));
}
std::vector<std::int32_t> copied(std::span<const std::int32_t> ids) { return {ids.begin(), ids.end()}; }

bool same(const TrainingBatch& a, const TrainingBatch& b) {
  return a.ids == b.ids && a.starts == b.starts && a.labels == b.labels && a.source == b.source &&
         a.source_starts == b.source_starts;
}

TEST(BatchSource, AStepsBatchDependsOnPlanAndStepAlone) {
  for (const Task task : test::kTasks) {
    const SmallTraining all(task);
    BatchPlan plan{.task = task, .batch = 4, .length = 12, .repeats = task == Task::lm ? 0.3 : 0};
    const std::unique_ptr<BatchSource> a = make_batches(plan, all.corpus, all.tokenizer);
    const std::unique_ptr<BatchSource> b = make_batches(plan, all.corpus, all.tokenizer);
    std::vector<TrainingBatch> forward;
    for (std::int64_t step = 0; step < 40; ++step) forward.push_back(a->batch(step));
    for (std::int64_t step = 39; step >= 0; step -= 3)
      EXPECT_TRUE(same(b->batch(step), forward[static_cast<std::size_t>(step)])) << name_of(task) << ", " << step;
    EXPECT_FALSE(same(forward[0], forward[1]));
    plan.seed = 2;
    EXPECT_FALSE(same(make_batches(plan, all.corpus, all.tokenizer)->batch(0), forward[0])) << name_of(task);
  }
}

// Ids that encode their origin. Held-out ids start at 1000.
TrainingCorpus counted(std::int64_t texts, std::int64_t length, Task task) {
  TrainingCorpus corpus;
  corpus.labels = {"even", "odd"};
  for (const bool held_out : {false, true}) {
    TextSequences& to = held_out ? corpus.held_out : corpus.learned;
    std::int32_t next = held_out ? 1000 : 0;
    for (std::int64_t n = 0; n < texts; ++n) {
      std::vector<std::int32_t> ids(static_cast<std::size_t>(length));
      std::iota(ids.begin(), ids.end(), next);
      next += static_cast<std::int32_t>(length);
      if (task == Task::classify) to.labels.push_back(static_cast<std::int32_t>(n % 2));
      if (task == Task::translate) to.targets.push_back(ids);
      to.ids.push_back(std::move(ids));
    }
  }
  return corpus;
}

// A text of 59 tokens after the end-of-text token: 60, of which the last is only a label.
TEST(TextBatches, EveryStretchOfTextComesOncePerEpoch) {
  const SmallTraining small(Task::lm);
  const TrainingCorpus corpus = counted(1, 60, Task::lm);
  const std::unique_ptr<BatchSource> batches =
      make_batches({.task = Task::lm, .batch = 5, .length = 6}, corpus, small.tokenizer);
  ASSERT_EQ(batches->examples(), 10);
  std::vector<std::vector<std::int32_t>> rounds;
  for (std::int64_t round = 0; round < 3; ++round) {
    std::vector<std::int32_t>& firsts = rounds.emplace_back();
    for (const std::int64_t step : {2 * round, 2 * round + 1}) {
      const TrainingBatch batch = batches->batch(step);
      ASSERT_EQ(batch.starts.size(), 6);
      for (std::size_t s = 0; s < 5; ++s) firsts.push_back(sequence(batch.ids, batch.starts, s)[1]);
    }
    std::vector<std::int32_t> sorted = firsts;
    std::ranges::sort(sorted);
    EXPECT_THAT(sorted, ElementsAre(0, 6, 12, 18, 24, 30, 36, 42, 48, 54));
  }
  EXPECT_NE(rounds[0], rounds[1]);
  EXPECT_NE(rounds[1], rounds[2]);
}

TEST(TextBatches, EveryTokenIsPredictedFromThoseBeforeIt) {
  const SmallTraining small(Task::lm);
  const TrainingCorpus corpus = counted(7, 23, Task::lm);
  const std::unique_ptr<BatchSource> batches =
      make_batches({.task = Task::lm, .batch = 8, .length = 10}, corpus, small.tokenizer);
  std::vector<std::int32_t> joined;
  for (const auto& ids : corpus.learned.ids) {
    joined.push_back(small.tokenizer.special().eos);
    joined.insert(joined.end(), ids.begin(), ids.end());
  }
  std::set<std::int64_t> places;
  for (std::int64_t step = 0; step < 50; ++step) {
    const TrainingBatch batch = batches->batch(step);
    for (std::size_t s = 0; s < 8; ++s) {
      std::vector<std::int32_t> read = copied(sequence(batch.ids, batch.starts, s));
      ASSERT_EQ(read.size(), 10);
      const auto labels = sequence(batch.labels, batch.starts, s);
      EXPECT_TRUE(std::equal(read.begin() + 1, read.end(), labels.begin()));
      read.push_back(labels.back());
      const auto found = std::ranges::search(joined, read);
      ASSERT_FALSE(found.empty());
      places.insert(found.begin() - joined.begin());
    }
  }
  EXPECT_EQ(*places.begin(), 0);
  EXPECT_EQ(*places.rbegin(), std::ssize(joined) - 11) << "the text's end is read too";
}

// The period of a sequence that repeats a stretch of tokens. The token at which the repetition begins never has a
// label, so the period ends at the last missing label.
std::size_t period_of(std::span<const std::int32_t> labels) {
  std::size_t period = 0;
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] == nn::kNoLabel) period = i + 1;
  return period;
}

TEST(TextBatches, RepeatedSequencesPredictWhatCameBefore) {
  const SmallTraining small(Task::lm);
  for (const std::int64_t length : {12, 11, 64}) {
    const std::unique_ptr<BatchSource> batches =
        make_batches({.task = Task::lm, .batch = 1500, .length = length, .repeats = 1}, small.corpus, small.tokenizer);
    const TrainingBatch batch = batches->batch(0);
    std::set<std::int32_t> seen;
    std::set<std::size_t> periods;
    int random = 0;
    for (std::size_t s = 0; s < 1500; ++s) {
      const auto read = sequence(batch.ids, batch.starts, s), labels = sequence(batch.labels, batch.starts, s);
      ASSERT_EQ(std::ssize(read), length);
      const std::size_t period = period_of(labels);
      ASSERT_GT(period, 1U);
      periods.insert(period);
      const bool is_random = labels[0] == nn::kNoLabel;
      random += is_random ? 1 : 0;
      if (is_random) seen.insert(read.begin(), read.end());
      for (std::size_t i = 0; i + 1 < period; ++i) EXPECT_EQ(labels[i], is_random ? nn::kNoLabel : read[i + 1]);
      for (std::size_t i = period; i < read.size(); ++i) {
        EXPECT_EQ(read[i], read[i - period]);
        EXPECT_EQ(labels[i], read[(i + 1) % period]);
      }
    }
    EXPECT_EQ(static_cast<std::int64_t>(*periods.begin()), (length / 2 + 3) / 4);
    EXPECT_EQ(static_cast<std::int64_t>(*periods.rbegin()), length / 2);
    EXPECT_NEAR(random, 750, 116) << "half of them are random tokens, within six standard deviations";
    EXPECT_EQ(std::ssize(seen), small.tokenizer.size()) << "any token may come";
  }
}

TEST(TextBatches, RepeatsHaveTheRequestedShare) {
  const SmallTraining small(Task::lm);
  const std::unique_ptr<BatchSource> batches =
      make_batches({.task = Task::lm, .batch = 2000, .length = 12, .repeats = 0.3}, small.corpus, small.tokenizer);
  const TrainingBatch batch = batches->batch(1);
  int repeated = 0;
  for (std::size_t s = 0; s < 2000; ++s) repeated += period_of(sequence(batch.labels, batch.starts, s)) > 0 ? 1 : 0;
  EXPECT_NEAR(repeated, 600, 123) << "six standard deviations";
}

// Batch sources that put each text into its own sequence.
TEST(BatchSource, EveryTextComesOncePerEpoch) {
  for (const Task task : {Task::mlm, Task::classify, Task::translate}) {
    const SmallTraining small(task);
    const TrainingCorpus corpus = counted(12, 5, task);
    const std::unique_ptr<BatchSource> batches =
        make_batches({.task = task, .batch = 3, .length = 7, .masked = 0.01}, corpus, small.tokenizer);
    ASSERT_EQ(batches->examples(), 12);
    for (std::int64_t round = 0; round < 2; ++round) {
      std::set<std::int32_t> texts;
      for (std::int64_t step = 4 * round; step < 4 * round + 4; ++step) {
        const TrainingBatch batch = batches->batch(step);
        const bool pairs = task == Task::translate;
        for (std::size_t s = 0; s < 3; ++s) {
          std::vector<std::int32_t> ids = pairs ? copied(sequence(batch.source, batch.source_starts, s))
                                                : copied(sequence(batch.ids, batch.starts, s));
          if (task == Task::mlm) {  // hidden tokens are in the labels
            const auto labels = sequence(batch.labels, batch.starts, s);
            for (std::size_t i = 0; i < ids.size(); ++i)
              if (labels[i] != nn::kNoLabel) ids[i] = labels[i];
          }
          texts.insert(ids[pairs ? 0 : 1] / 5);
        }
      }
      EXPECT_EQ(texts.size(), 12) << name_of(task) << ", round " << round;
    }
  }
}

TEST(BatchSource, HeldOutTextsAreEvaluatedAndNeverTrainedOn) {
  for (const Task task : test::kTasks) {
    const SmallTraining small(task);
    const TrainingCorpus corpus = counted(10, 20, task);
    const std::unique_ptr<BatchSource> batches =
        make_batches({.task = task, .batch = 4, .length = 22}, corpus, small.tokenizer);
    const auto from_held_out = [](std::int32_t id) { return id >= 1000; };
    for (std::int64_t step = 0; step < 30; ++step) {
      const TrainingBatch batch = batches->batch(step);
      for (const auto* ids : {&batch.ids, &batch.labels, &batch.source})
        EXPECT_TRUE(std::ranges::none_of(*ids, from_held_out)) << name_of(task);
    }
    const std::vector<TrainingBatch> evaluated = batches->held_out(), again = batches->held_out();
    ASSERT_FALSE(evaluated.empty());
    std::set<std::int32_t> seen;
    for (std::size_t n = 0; n < evaluated.size(); ++n) {
      EXPECT_TRUE(same(evaluated[n], again[n])) << name_of(task);
      for (const auto* ids : {&evaluated[n].ids, &evaluated[n].labels, &evaluated[n].source}) {
        for (const std::int32_t id : *ids) {
          if (id >= 300) seen.insert(id);  // others are special or masking tokens
          EXPECT_TRUE(id < 0 || id >= 1000 || id < small.tokenizer.size());
        }
      }
    }
    EXPECT_GT(seen.size(), task == Task::mlm ? 80 : 150) << name_of(task);  // some are cut off
  }
}

// About 36,000 maskable tokens in 1,000 pieces.
TEST(FillBatches, HidesAsDevlinAndOthersDo) {
  const SmallTraining small(Task::mlm);
  const text::SpecialIds& special = small.tokenizer.special();
  const TrainingCorpus corpus = counted(200, 100, Task::mlm);
  const std::unique_ptr<BatchSource> batches =
      make_batches({.task = Task::mlm, .batch = 1000, .length = 102}, corpus, small.tokenizer);
  const TrainingBatch batch = batches->batch(0);
  double tokens = 0, asked = 0, masked = 0, kept = 0, other = 0;
  int shorter = 0;
  for (std::size_t s = 0; s < 1000; ++s) {
    const auto ids = sequence(batch.ids, batch.starts, s), labels = sequence(batch.labels, batch.starts, s);
    EXPECT_EQ(ids.front(), special.cls);
    EXPECT_EQ(ids.back(), special.sep);
    EXPECT_EQ(labels.front(), nn::kNoLabel);
    EXPECT_EQ(labels.back(), nn::kNoLabel);
    EXPECT_GE(ids.size(), 2 + 8);
    shorter += ids.size() <= 2 + 28 ? 1 : 0;
    tokens += static_cast<double>(ids.size()) - 2;
    for (std::size_t i = 1; i + 1 < ids.size(); ++i) {
      if (labels[i] == nn::kNoLabel) continue;
      ++asked;
      masked += ids[i] == special.mask ? 1 : 0;
      kept += ids[i] == labels[i] ? 1 : 0;
      other += ids[i] != special.mask && ids[i] != labels[i] ? 1 : 0;
    }
  }
  EXPECT_NEAR(asked / tokens, 0.15, 0.0115) << "six standard deviations";
  EXPECT_NEAR(masked / asked, 0.8, 0.033);
  EXPECT_NEAR(kept / asked, 0.1, 0.025);
  EXPECT_NEAR(other / asked, 0.1, 0.025);
  // 28 is halfway between 8 and 100 on a log scale.
  EXPECT_NEAR(shorter, 500, 110);
}

TEST(FillBatches, ShortestTextHasAMaskedToken) {
  const SmallTraining small(Task::mlm);
  const TrainingCorpus corpus = counted(20, 1, Task::mlm);
  const std::unique_ptr<BatchSource> batches =
      make_batches({.task = Task::mlm, .batch = 20, .length = 8}, corpus, small.tokenizer);
  const TrainingBatch batch = batches->batch(0);
  for (std::size_t s = 0; s < 20; ++s) {
    const auto labels = sequence(batch.labels, batch.starts, s);
    ASSERT_EQ(labels.size(), 3);
    EXPECT_NE(labels[1], nn::kNoLabel);
  }
}

// Longer texts are cut anywhere, so that their ends are seen too.
TEST(FillBatches, LongTextsAreCutAnywhere) {
  const SmallTraining small(Task::mlm);
  const TrainingCorpus corpus = counted(1, 50, Task::mlm);
  const std::unique_ptr<BatchSource> batches =
      make_batches({.task = Task::mlm, .batch = 500, .length = 8}, corpus, small.tokenizer);
  const TrainingBatch batch = batches->batch(0);
  EXPECT_EQ(std::ranges::count(batch.labels, 0) > 0, true);
  EXPECT_EQ(std::ranges::count(batch.labels, 49) > 0, true);
  for (std::size_t s = 0; s < 500; ++s) EXPECT_LE(sequence(batch.ids, batch.starts, s).size(), 8);
}

TEST(ClassBatches, TheBeginningOfATextIsClassified) {
  const SmallTraining small(Task::classify);
  const TrainingCorpus corpus = counted(6, 20, Task::classify);
  const std::unique_ptr<BatchSource> batches =
      make_batches({.task = Task::classify, .batch = 6, .length = 10}, corpus, small.tokenizer);
  const TrainingBatch batch = batches->batch(0);
  ASSERT_EQ(batch.labels.size(), 6);
  for (std::size_t s = 0; s < 6; ++s) {
    const auto ids = sequence(batch.ids, batch.starts, s);
    ASSERT_EQ(ids.size(), 10);
    EXPECT_EQ(ids[1] % 20, 0);
    EXPECT_EQ(ids[1] / 20 % 2, batch.labels[s]);
    EXPECT_EQ(ids.front(), small.tokenizer.special().cls);
    EXPECT_EQ(ids.back(), small.tokenizer.special().sep);
  }
}

// As BART is trained: the decoder's input starts with </s>.
TEST(PairBatches, DecoderReadsTheShiftedTranslation) {
  const SmallTraining small(Task::translate);
  TrainingCorpus corpus;
  corpus.learned.ids = {{0, 10, 11, 12, 13, 14, 2}};
  corpus.learned.targets = {{0, 20, 21, 2}};
  const std::unique_ptr<BatchSource> batches =
      make_batches({.task = Task::translate, .batch = 1, .length = 5}, corpus, small.tokenizer);
  const TrainingBatch batch = batches->batch(0);
  EXPECT_THAT(batch.source, ElementsAre(0, 10, 11, 12, 13)) << "cut at the length";
  EXPECT_THAT(batch.ids, ElementsAre(2, 0, 20, 21));
  EXPECT_THAT(batch.labels, ElementsAre(0, 20, 21, 2));
  EXPECT_TRUE(batches->held_out().empty());
}

TEST(BatchSource, InvalidPlansAreRefused) {
  const SmallTraining lm(Task::lm), mlm(Task::mlm);
  const auto refused = [](const BatchPlan& plan, const SmallTraining& with, const TrainingCorpus& corpus) {
    return argument_error([&] { make_batches(plan, corpus, with.tokenizer); });
  };
  const TrainingCorpus nine = counted(1, 9, Task::lm);
  EXPECT_THAT(refused({.task = Task::lm, .length = 10}, lm, nine),
              AllOf(HasSubstr("have 10 tokens"), HasSubstr("sequence of 10"), HasSubstr("at most 9")));
  EXPECT_EQ(refused({.task = Task::lm, .length = 9}, lm, nine), "nothing was thrown");
  EXPECT_THAT(refused({.task = Task::lm, .length = 1}, lm, nine), AllOf(HasSubstr("is 1;"), HasSubstr("at least 2")));
  EXPECT_THAT(refused({.task = Task::mlm, .length = 2}, mlm, nine), HasSubstr("at least 3"));
  EXPECT_THAT(refused({.task = Task::mlm, .batch = 0}, mlm, nine), HasSubstr("at least one sequence"));
  EXPECT_THAT(refused({.task = Task::mlm}, lm, nine), HasSubstr("[CLS]"));
}

}  // namespace
}  // namespace attn::train
