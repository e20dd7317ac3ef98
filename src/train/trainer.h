// train/trainer.h - trains step by step, with checkpoints; a resumed run is bit-identical to an uninterrupted one.
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
  double rate = 1e-3;         // peak learning rate; decays as a cosine to a tenth
  std::int64_t warmup = 100;  // steps before the peak
  float decay = 0.1F;         // weight decay, of matrices only
  double clip = 1;            // maximum norm of all gradients together; 0: no limit
  std::uint64_t seed = 1;
};

struct Diverged : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Thrown when the caller asks to stop.
struct Stopped : std::runtime_error {
  Stopped() : std::runtime_error("stopped") {}
};

struct Evaluation {
  std::int64_t step = 0;  // number of steps before it
  double loss = 0;
  double accuracy = 0;  // share of correct answers
};

// Losses and evaluations so far; stored in the checkpoint.
struct History {
  std::vector<float> losses;  // of each step
  std::vector<Evaluation> evaluated;
};

// Parameters, optimizer moments and history are one file, training.safetensors, which is replaced as a whole. Next to
// it are config.json and model.safetensors, which every Hugging Face tool reads.
//
// Ranks share each step's batch and hold bit-identical parameters after it. The result equals that of one process up to
// rounding, since gradients are summed in another order. Checkpoints do not depend on ranks: one rank writes them, and
// any number can resume.
class Trainer {
 public:
  // Everything that determines the bits but is not in the plan: options, the data's fingerprint. A checkpoint with
  // other facts is refused.
  using Facts = std::map<std::string, std::string, std::less<>>;

  Trainer(std::unique_ptr<TrainableModel> model, BatchSource& batches, const TrainPlan& plan, Facts facts,
          Ranks& ranks);

  [[nodiscard]] static bool has_checkpoint(const std::filesystem::path& folder);
  // Resumes from the folder's checkpoint; returns false if there is none. Throws attn::Error if it is broken or belongs
  // to another model or plan; the message has both values.
  bool resume(const std::filesystem::path& folder);
  // Writes the folder's files, each completely or not at all. Throws attn::Error; the previous files then remain.
  void save(const std::filesystem::path& folder) const;
  // Writes only config.json and model.safetensors. `half`: as 16-bit numbers.
  void save_model(const std::filesystem::path& folder, bool half) const;

  // Why these ranks cannot train together: facts, including `more`, the step or the initial parameters that differ on
  // some rank, with both values. Empty: they agree. All must call it; all get the same result.
  [[nodiscard]] std::string disagreement(const Facts& more = {}) const;

  // All ranks must call these two. Each polls its `stop`; once one returns true, all ranks learn of it.
  using Stop = std::function<bool()>;
  struct Step {
    double loss = 0, rate = 0, norm = 0;
    std::int64_t tokens = 0;  // of all ranks
    bool stop = false;        // a rank asked to stop after this step
  };
  // One step. Throws Diverged if the loss or a gradient is NaN or infinite; the parameters are then unchanged. Throws
  // std::invalid_argument if the batch has fewer sequences than there are ranks.
  Step step(ThreadPool& pool, const Stop& stop = {});
  // Evaluates the held-out texts and adds the result to the history; the same bits for any number of ranks. None:
  // nothing is held out. Throws Stopped.
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

// The size of a model that a task starts from. Throws std::invalid_argument if the task needs another family,
// attn::Error if its files are invalid.
ModelSize shape_of(const base::Folder& folder, Task task);

// Copies weights from a model folder, to start another task: every parameter that the file has under the same name.
// Returns how many it copied; the others keep their values. Throws attn::Error, with both shapes, if one differs.
std::int64_t take_weights(TrainableModel& model, const base::Folder& folder);

}  // namespace attn::train
