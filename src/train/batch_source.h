// train/batch_source.h - batches: which texts a step sees, and what is asked about them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "text/tokenizer/tokenizer.h"
#include "train/trainable_model.h"
#include "train/training_corpus.h"

namespace attn::train {

struct BatchPlan {
  Task task = Task::lm;
  std::int64_t batch = 32;    // sequences a step
  std::int64_t length = 256;  // of the longest sequence, special tokens included
  std::uint64_t seed = 1;
  double masked = 0.15;  // Task::mlm: share of tokens that are asked for (Devlin et al., 2018)
  double repeats = 0;  // Task::lm: share of sequences that are random tokens, twice in a row, of which the second time
                       // is asked for: what induction heads are for
};

// A step's batch depends on plan and step alone: training can go on from anywhere.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  BatchSource(const BatchSource&) = delete;
  BatchSource& operator=(const BatchSource&) = delete;

  [[nodiscard]] virtual TrainingBatch batch(std::int64_t step) = 0;
  // What is not learned from, always asked about in the same way; empty: nothing was held out.
  [[nodiscard]] virtual std::vector<TrainingBatch> held_out() = 0;
  // Texts, or for Task::lm stretches of text as long as a sequence.
  [[nodiscard]] virtual std::int64_t examples() const noexcept = 0;

 protected:
  BatchSource() = default;
};

// Throws std::invalid_argument if the texts are too few for one sequence, or a sequence cannot hold a token.
std::unique_ptr<BatchSource> make_batches(const BatchPlan& plan, const TrainingCorpus& corpus,
                                          const text::Tokenizer& tokenizer);

}  // namespace attn::train
