// tests/train/training_corpus_test.cc - tokenized texts, held-out texts, and labels.
#include "train/training_corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/errors.h"
#include "tests/train/train_support.h"

namespace attn::train {
namespace {

using test::argument_error;
using test::sentences;
using test::tokenizer_of;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(TrainingCorpus, LabelsAreNumberedInAlphabeticalOrder) {
  std::vector<text::Example> examples = {{.text = "the sea", .label = "warm"},
                                         {.text = "cold soup", .label = "Cold"},
                                         {.text = "rain", .label = "1"},
                                         {.text = "a dog", .label = "warm"}};
  const text::Tokenizer tokenizer = tokenizer_of(sentences(Task::classify), Task::classify);
  ThreadPool pool(2);
  const TrainingCorpus corpus = make_corpus(examples, Task::classify, tokenizer, 0, pool);
  EXPECT_THAT(corpus.labels, ElementsAre("1", "Cold", "warm"));
  EXPECT_THAT(corpus.learned.labels, ElementsAre(2, 1, 0, 2));
  EXPECT_EQ(corpus.learned.ids[1], tokenizer.ids("cold soup", true));
}

// Every text is on exactly one side, the same for every task.
TEST(TrainingCorpus, HeldOutTextsAreNeverTrainedOn) {
  ThreadPool pool(2);
  for (const Task task : test::kTasks) {
    const std::vector<text::Example> examples = sentences(task, 400);
    const text::Tokenizer tokenizer = tokenizer_of(examples, task);
    const TrainingCorpus corpus = make_corpus(examples, task, tokenizer, 0.25, pool);
    EXPECT_EQ(corpus.learned.ids.size() + corpus.held_out.ids.size(), examples.size());
    EXPECT_NEAR(static_cast<double>(corpus.held_out.ids.size()), 100, 52) << "six standard deviations";
    std::size_t learned = 0, held_out = 0;
    for (const text::Example& example : examples) {
      const std::vector<std::int32_t> ids = tokenizer.ids(example.text, task != Task::translate);
      if (text::held_out(example.text, 0.25)) {
        EXPECT_EQ(corpus.held_out.ids[held_out++], ids);
      } else {
        EXPECT_EQ(corpus.learned.ids[learned++], ids);
      }
    }
    const bool pairs = task == Task::translate;
    EXPECT_EQ(corpus.learned.targets.size(), pairs ? corpus.learned.ids.size() : 0);
    EXPECT_EQ(corpus.learned.ids[0].front() == tokenizer.special().bos, pairs) << "special tokens only there";
  }
}

TEST(TrainingCorpus, CountsTheTrainingTokens) {
  ThreadPool pool(1);
  const text::Tokenizer tokenizer = tokenizer_of(sentences(Task::translate), Task::translate);
  const std::vector<text::Example> examples = {{.text = "the sea", .label = "rain"}};
  EXPECT_EQ(make_corpus(examples, Task::translate, tokenizer, 0, pool).tokens(), 4 + 3);
  EXPECT_EQ(make_corpus(examples, Task::lm, tokenizer, 0, pool).tokens(), 2);
}

TEST(TrainingCorpus, FingerprintChangesWithTextsLabelsAndOrder) {
  ThreadPool pool(1);
  std::vector<text::Example> examples = sentences(Task::classify);
  const text::Tokenizer tokenizer = tokenizer_of(examples, Task::classify);
  const auto fingerprint = [&] { return make_corpus(examples, Task::classify, tokenizer, 0, pool).fingerprint; };
  const std::uint64_t before = fingerprint();
  EXPECT_EQ(fingerprint(), before);
  std::swap(examples[0], examples[1]);
  EXPECT_NE(fingerprint(), before);
  std::swap(examples[0], examples[1]);
  examples[0].label = "bad";
  EXPECT_NE(fingerprint(), before);
}

TEST(TrainingCorpus, UnusableTextsAreRefused) {
  ThreadPool pool(1);
  const text::Tokenizer tokenizer = tokenizer_of(sentences(Task::classify), Task::classify);
  const auto refused = [&](const std::vector<text::Example>& examples, Task task, double held_out) {
    return argument_error([&] { make_corpus(examples, task, tokenizer, held_out, pool); });
  };
  EXPECT_THAT(refused({}, Task::mlm, 0), HasSubstr("no texts"));
  EXPECT_THAT(refused({{.text = "rain", .label = "good"}, {.text = "sea", .label = "good"}}, Task::classify, 0),
              testing::AllOf(HasSubstr("'good'"), HasSubstr("at least two")));
  EXPECT_THAT(refused({{.text = "rain", .label = {}}}, Task::mlm, 1),
              testing::AllOf(HasSubstr("1 text "), HasSubstr("held out")));
  EXPECT_THAT(refused({{.text = "rain\xFF", .label = {}}}, Task::mlm, 0), HasSubstr("UTF-8"));
}

}  // namespace
}  // namespace attn::train
