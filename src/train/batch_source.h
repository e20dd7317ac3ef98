// train/batch_source.h - batches: which texts a step sees, and what the model must predict.
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
  std::int64_t batch = 32;    // sequences per step
  std::int64_t length = 256;  // of the longest sequence, special tokens included
  std::uint64_t seed = 1;
  double masked = 0.15;  // Task::mlm: share of tokens to predict (Devlin et al., 2018)
  double repeats = 0;    // Task::lm: share of sequences that repeat a stretch of tokens, to teach induction heads.
                         // The first occurrence has labels only if it is text
};

// A step's batch depends only on plan and step, so training can resume anywhere.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  BatchSource(const BatchSource&) = delete;
  BatchSource& operator=(const BatchSource&) = delete;

  [[nodiscard]] virtual TrainingBatch batch(std::int64_t step) = 0;
  // Batches of held-out text, the same every time; empty: nothing is held out.
  [[nodiscard]] virtual std::vector<TrainingBatch> held_out() = 0;
  // Number of texts; for Task::lm, of stretches as long as a sequence.
  [[nodiscard]] virtual std::int64_t examples() const noexcept = 0;

 protected:
  BatchSource() = default;
};

// Throws std::invalid_argument if the texts are too short for one sequence, or a sequence cannot hold a token.
std::unique_ptr<BatchSource> make_batches(const BatchPlan& plan, const TrainingCorpus& corpus,
                                          const text::Tokenizer& tokenizer);

}  // namespace attn::train
