// train/trainer.h - learning step by step, with checkpoints from which it goes on to the same bits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "attn/ranks.h"
#include "attn/thread_pool.h"
#include "base/folder.h"
#include "nn/learn/adamw.h"
#include "nn/learn/loss.h"
#include "train/batch_source.h"
#include "train/trainable_model.h"

namespace attn::train {

struct TrainPlan {
  std::int64_t steps = 1000;
  double rate = 1e-3;         // the highest; it falls as a cosine to a tenth
  std::int64_t warmup = 100;  // steps in which it rises
  float decay = 0.1F;         // of matrices
  double clip = 1;            // the largest norm of all gradients together; 0: any
  std::uint64_t seed = 1;
};

struct Diverged : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Somebody asked to stop.
struct Stopped : std::runtime_error {
  Stopped() : std::runtime_error("stopped") {}
};

struct Evaluation {
  std::int64_t step = 0;  // after so many steps
  double loss = 0;
  double right = 0;  // share of answers that were
};

// What happened until now. All of it is in the checkpoint.
struct History {
  std::vector<float> losses;  // of each step
  std::vector<Evaluation> evaluated;
};

// Learned numbers, moments and history are one file, training.safetensors, that is replaced as a whole; beside it lie
// config.json and model.safetensors, which every program of the Hugging Face kind reads.
//
// Ranks share each step's batch and have the same numbers after it, to the bit. They learn what one process learns, to
// rounding: sums of gradients are made in another order. A checkpoint knows nothing of them: one of them writes it, and
// any number goes on from there.
class Trainer {
 public:
  // All that decides the bits and is not in the plan: options, the data's fingerprint. A checkpoint whose facts are
  // others is not gone on with.
  using Facts = std::map<std::string, std::string, std::less<>>;

  Trainer(std::unique_ptr<TrainableModel> model, BatchSource& batches, const TrainPlan& plan, Facts facts,
          Ranks& ranks);

  [[nodiscard]] static bool has_checkpoint(const std::filesystem::path& folder);
  // Goes on from the folder's checkpoint; false: there is none. Throws attn::Error if it is broken, or of another model
  // or plan: the message has both values.
  bool resume(const std::filesystem::path& folder);
  // Writes the folder's files, each whole or not at all. Throws attn::Error; what was there before is still there then.
  void save(const std::filesystem::path& folder) const;
  // config.json and model.safetensors only. `half`: numbers of 16 bits.
  void save_model(const std::filesystem::path& folder, bool half) const;

  // Why these ranks cannot learn together: facts, `more` of them, the step or the numbers to begin with that are others
  // on some rank, with both values. Empty: they can. All must call it; all get the same answer.
  [[nodiscard]] std::string disagreement(const Facts& more = {}) const;

  // All ranks must call these two. Each asks its `stop` now and then: once one of them has said yes, all are told.
  using Stop = std::function<bool()>;
  struct Step {
    double loss = 0, rate = 0, norm = 0;
    std::int64_t tokens = 0;  // of all ranks
    bool stop = false;        // this should have been the last step
  };
  // One step. Throws Diverged if the loss or a gradient is no number any more; nothing has been learned then. Throws
  // std::invalid_argument if the batch has fewer sequences than there are ranks.
  Step step(ThreadPool& pool, const Stop& stop = {});
  // Of the held-out texts, the same bits for any number of ranks; added to the history. None: nothing was held out.
  // Throws Stopped.
  std::optional<Evaluation> evaluate(ThreadPool& pool, const Stop& stop = {});

  [[nodiscard]] std::int64_t steps_done() const noexcept { return optimiser_.steps(); }
  [[nodiscard]] bool done() const noexcept { return steps_done() >= plan_.steps; }
  [[nodiscard]] const History& history() const noexcept { return history_; }
  [[nodiscard]] const TrainPlan& plan() const noexcept { return plan_; }
  [[nodiscard]] TrainableModel& model() noexcept { return *model_; }

 private:
  std::unique_ptr<TrainableModel> model_;
  BatchSource& batches_;
  TrainPlan plan_;
  Facts facts_;
  Ranks& ranks_;
  nn::AdamW optimiser_;
  nn::Scratch scratch_;
  History history_;
  std::optional<std::vector<TrainingBatch>> held_out_;
};

// The shape of a model that a task begins with. Throws std::invalid_argument if it is of another kind than the task
// learns, attn::Error if its files are not right.
ModelSize shape_of(const base::Folder& folder, Task task);

// Learned numbers from a model's folder, to go on with another task: every parameter that the file has under the same
// name. Returns how many it took; the others stay. Throws attn::Error for one of another shape, with both.
std::int64_t take_weights(TrainableModel& model, const base::Folder& folder);

}  // namespace attn::train
