// tests/train/train_support.h - small trainings of every task, on made-up texts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/ranks.h"
#include "text/datasets/examples.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/train_tokenizer.h"
#include "train/batch_source.h"
#include "train/trainable_model.h"
#include "train/trainer.h"
#include "train/training_corpus.h"

namespace attn::test {

inline constexpr train::Task kTasks[] = {train::Task::lm, train::Task::mlm, train::Task::classify,
                                         train::Task::translate};

// Short sentences with a label or a translation, as the task needs.
inline std::vector<text::Example> sentences(train::Task task, int count = 60) {
  const char* const who[] = {"the cat", "a dog", "my friend", "the old man", "she"};
  const char* const does[] = {"likes", "hates", "sees", "eats"};
  const char* const what[] = {"red apples", "the sea", "a long film", "cold soup", "new music", "rain"};
  std::vector<text::Example> examples;
  for (int n = 0; n < count; ++n) {
    const std::string verb = does[n % 4], object = what[n * 7 % 6];
    text::Example example{.text = std::string(who[n % 5]) + " " + verb + " " + object + " " + std::to_string(n),
                          .label = {}};
    if (task == train::Task::classify) example.label = verb == "hates" ? "bad" : "good";
    if (task == train::Task::translate) example.label = object + " " + verb;
    examples.push_back(std::move(example));
  }
  return examples;
}

inline text::Tokenizer tokenizer_of(const std::vector<text::Example>& examples, train::Task task) {
  std::size_t next = 0;
  const bool pairs = task == train::Task::translate;
  const text::Scheme scheme = task == train::Task::lm ? text::Scheme::byte_bpe
                              : pairs                 ? text::Scheme::words
                                                      : text::Scheme::word_piece;
  return text::load_tokenizer(text::trained_tokenizer({.scheme = scheme,
                                                       .vocabulary = task == train::Task::lm ? 280
                                                                     : pairs                 ? 0
                                                                                             : 60,
                                                       .least_count = 1},
                                                      [&]() -> std::optional<std::string> {
                                                        if (next == examples.size() * (pairs ? 2 : 1))
                                                          return std::nullopt;
                                                        const text::Example& example = examples[next % examples.size()];
                                                        return next++ < examples.size() ? example.text : example.label;
                                                      }));
}

// Everything that a training needs.
struct SmallTraining {
  explicit SmallTraining(train::Task what, std::int64_t batch = 4)
      : task(what), examples(sentences(what)), tokenizer(tokenizer_of(examples, what)), corpus(make(0.2)) {
    plan = {.steps = 8, .rate = 5e-3, .warmup = 2};
    batches = train::make_batches({.task = task, .batch = batch, .length = 12}, corpus, tokenizer);
  }

  [[nodiscard]] train::TrainingCorpus make(double held_out) const {
    ThreadPool pool(2);
    return make_corpus(examples, task, tokenizer, held_out, pool);
  }
  [[nodiscard]] train::ModelSize shape() const {
    return {.layers = 1,
            .heads = 2,
            .width = 8,
            .positions = 12,
            .vocabulary = tokenizer.size(),
            .labels = corpus.labels,
            .dropout = 0.1F};
  }
  [[nodiscard]] train::Trainer trainer(const train::ModelSize& of, const train::TrainPlan& by) const {
    return trainer(of, by, *one_process);
  }
  [[nodiscard]] train::Trainer trainer(const train::ModelSize& of, const train::TrainPlan& by, Ranks& ranks) const {
    std::unique_ptr<train::TrainableModel> model = make_trainable(task, of);
    model->initialise(by.seed);
    return {std::move(model), *batches, by, {{"width", std::to_string(of.width)}}, ranks};
  }
  [[nodiscard]] train::Trainer trainer() const { return trainer(shape(), plan); }

  train::Task task;
  std::vector<text::Example> examples;
  text::Tokenizer tokenizer;
  train::TrainingCorpus corpus;
  std::unique_ptr<train::BatchSource> batches;
  train::TrainPlan plan;
  std::unique_ptr<Ranks> one_process = alone();
};

}  // namespace attn::test
