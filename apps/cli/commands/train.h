// apps/cli/commands/train.h - what attnscope train was asked for, and the files that it leaves beside a checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "apps/cli/command.h"
#include "attn/thread_pool.h"
#include "train/batch_source.h"
#include "train/trainable_model.h"
#include "train/trainer.h"

namespace attn::cli {

struct TrainOptions {
  train::Task task = train::Task::lm;
  std::string data, to;
  std::optional<std::string> from;  // a model to go on with
  std::optional<std::string> text_column, label_column;
  std::optional<std::int64_t> layers;  // as asked for; none: the usual number, or all of `from`
  train::ModelSize shape;              // unless there is `from`; vocabulary: of the tokenizer to be trained
  train::BatchPlan batches;
  train::TrainPlan plan;
  double held_out = 0.05;
  std::int64_t checkpoint_every = 200, evaluate_every = 200, record_every = 0;
  std::string probe;
  bool half = false, json = false;
};

// Reads the data, makes or takes the tokenizer, and learns: together with the processes that were launched with this
// one. Rank 0 alone writes and speaks. Throws attn::Error, UsageError, Interrupted, FailedTogether.
void train_model(const TrainOptions& options, Shell& shell);

// loss.csv and loss.svg: the loss of every step, and of what was held out.
void write_losses(const train::History& history, const std::filesystem::path& folder);

// Watches heads form: recordings of a text, and of each head how much it looks at the token before, and, in a decoder,
// at what followed the same token before (insight/statistics/induction.h).
class HeadWatch {
 public:
  // What an earlier run saw until `step` is kept.
  HeadWatch(std::filesystem::path folder, std::string probe, std::int64_t step);
  [[nodiscard]] bool saw(std::int64_t step) const noexcept;
  // Reads the probe with the folder's model, which must be that of this step.
  void look(std::int64_t step, ThreadPool& pool);
  // heads.csv and heads.svg.
  void write() const;

 private:
  struct Seen {
    std::int64_t step = 0, layer = 0, head = 0;
    double previous = 0, induction = 0;
  };
  std::filesystem::path folder_;
  std::string probe_;
  std::vector<Seen> seen_;
};

}  // namespace attn::cli
