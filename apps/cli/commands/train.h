// apps/cli/commands/train.h - options of attnscope train, and the files it writes beside a checkpoint.
#pragma once

#include <array>
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

// What a training copies from --from, or writes itself.
inline constexpr std::array<const char*, 6> kTokenizerFiles = {
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt", "vocab.json", "merges.txt"};
inline constexpr std::array<const char*, 13> kTrainingFiles = {"tokenizer.json",
                                                               "tokenizer_config.json",
                                                               "special_tokens_map.json",
                                                               "vocab.txt",
                                                               "vocab.json",
                                                               "merges.txt",
                                                               "config.json",
                                                               "model.safetensors",
                                                               "loss.csv",
                                                               "loss.svg",
                                                               "heads.csv",
                                                               "heads.svg",
                                                               "training.safetensors"};

struct TrainOptions {
  train::Task task = train::Task::lm;
  std::string data, to;
  std::optional<std::string> from;  // the model to start from
  std::optional<std::string> text_column, label_column;
  std::optional<std::int64_t> layers;  // --layers; none: the task's default, or all of `from`
  train::ModelSize shape;              // ignored with `from`; vocabulary: size of the tokenizer to train
  train::BatchPlan batches;
  train::TrainPlan plan;
  double held_out = 0.05;
  std::int64_t checkpoint_every = 200, evaluate_every = 200, record_every = 0;
  std::string probe;
  bool half = false, json = false;
};

// Reads the data, trains or copies the tokenizer, and trains the model, together with the other ranks. Only rank 0
// writes and prints. Throws attn::Error, UsageError, Interrupted, FailedTogether.
void train_model(const TrainOptions& options, Shell& shell);

// Writes loss.csv and loss.svg: the loss of every step, and on the held-out texts.
void write_losses(const train::History& history, const std::filesystem::path& folder);

// Watches heads form: records a text, and per head the attention to the previous token and, in a decoder, the induction
// score (insight/statistics/induction.h).
class HeadWatch {
 public:
  // Keeps what an earlier run measured up to `step`.
  HeadWatch(std::filesystem::path folder, std::string probe, std::int64_t step);
  [[nodiscard]] bool saw(std::int64_t step) const noexcept;
  // Records the probe with the folder's model, which must be that of this step.
  void look(std::int64_t step, ThreadPool& pool);
  // Writes heads.csv and heads.svg.
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
