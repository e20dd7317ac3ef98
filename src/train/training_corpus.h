// train/training_corpus.h - tokenized texts: those to train on, and those held out.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attn/thread_pool.h"
#include "text/datasets/examples.h"
#include "text/tokenizer/tokenizer.h"
#include "train/trainable_model.h"

namespace attn::train {

struct TextSequences {
  std::vector<std::vector<std::int32_t>> ids;      // without special tokens; Task::translate: with them
  std::vector<std::vector<std::int32_t>> targets;  // Task::translate
  std::vector<std::int32_t> labels;                // Task::classify
};

struct TrainingCorpus {
  TextSequences learned, held_out;
  std::vector<std::string> labels;  // Task::classify: their names, in alphabetical order
  std::uint64_t fingerprint = 0;    // of the texts, in their order

  [[nodiscard]] std::int64_t tokens() const noexcept;  // to train on
};

// Which texts are held out depends only on the texts (text::held_out), so no task trains on what another is evaluated
// on. Throws std::invalid_argument if there are no texts, and for classification if there are fewer than two labels.
TrainingCorpus make_corpus(std::span<const text::Example> examples, Task task, const text::Tokenizer& tokenizer,
                           double held_out, ThreadPool& pool);

}  // namespace attn::train
