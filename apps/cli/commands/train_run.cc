// apps/cli/commands/train_run.cc - attnscope train: from data to a model folder.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <utility>

#include "apps/cli/command.h"
#include "apps/cli/commands/train.h"
#include "apps/cli/options/ranks.h"
#include "apps/cli/output/json.h"
#include "apps/cli/output/progress.h"
#include "apps/cli/output/terminal.h"
#include "attn/error.h"
#include "base/folder_lock.h"
#include "base/new_file.h"
#include "model/run/model.h"
#include "text/datasets/examples.h"
#include "text/tokenizer/train_tokenizer.h"

namespace attn::cli {

namespace {

using train::Task;

text::Wanted wanted_by(Task task) {
  if (task == Task::classify) return text::Wanted::label;
  return task == Task::translate ? text::Wanted::translation : text::Wanted::text;
}

text::Scheme scheme_of(Task task) {
  if (task == Task::lm) return text::Scheme::byte_bpe;
  return task == Task::translate ? text::Scheme::words : text::Scheme::word_piece;
}

void say(const std::string& line) { print(line + "\n"); }

// One training run, from reading the data to the last checkpoint.
class Training {
 public:
  Training(const TrainOptions& options, Shell& shell)
      : options_(options), ranks_(shell.ranks()), pool_(shell.pool()), folder_(options.to) {}

  void run();

 private:
  [[nodiscard]] std::vector<text::Example> read();
  void make_folder() const;
  void make_tokenizer(const std::vector<text::Example>& examples) const;
  void copy_tokenizer(const base::Folder& from) const;
  [[nodiscard]] std::unique_ptr<train::TrainableModel> make_trainable(const text::Tokenizer& tokenizer,
                                                                      const train::TrainingCorpus& corpus) const;
  [[nodiscard]] train::Trainer::Facts facts(const train::TrainableModel& model,
                                            const train::TrainingCorpus& corpus) const;
  void look_at_first();
  void check_probe(const text::Tokenizer& tokenizer, std::int64_t positions) const;
  void go_on(train::Trainer& trainer);
  void learn(train::Trainer& trainer);
  void stop(const train::Trainer& trainer, bool saved);
  void after_step(train::Trainer& trainer, std::optional<HeadWatch>& watch, bool& saved);
  void show(const train::Trainer& trainer, const train::Trainer::Step& step);
  void finish(const train::Trainer& trainer);
  [[nodiscard]] bool leads() const noexcept { return ranks_.rank() == 0; }
  // Work that rank 0 does while the others wait.
  template <typename F>
  void once(const F& work) const {
    on_all(ranks_, [&] {
      if (leads()) work();
    });
  }
  void tell(const std::string& line) {
    if (options_.json || !leads()) return;
    bar_.clear();
    say(line);
  }
  void wait_with(const std::string& words) {
    if (leads()) bar_.show(0, words);
  }

  const TrainOptions& options_;
  Ranks& ranks_;
  ThreadPool& pool_;
  std::filesystem::path folder_;
  std::optional<base::FolderLock> lock_;   // on rank 0
  std::optional<base::Folder> from_;       // the model to start from
  std::optional<train::ModelSize> first_;  // its shape
  ProgressLine bar_;
  std::int64_t tokens_ = 0, first_step_ = 0;
  std::int64_t kept_ = 0;  // step of the last checkpoint; 0: none
  double seconds_ = 0;     // spent in steps only
  double loss_ = 0;        // running mean, for display
};

void Training::copy_tokenizer(const base::Folder& from) const {
  for (const char* name : kTokenizerFiles) {
    if (!from.has(name)) continue;
    base::write_file(folder_ / name, from.read(name));
  }
}

void Training::make_folder() const {
  std::error_code problem;
  std::filesystem::create_directories(folder_, problem);
  if (problem) throw Error(options_.to, "cannot be created: " + problem.message());
}

void Training::make_tokenizer(const std::vector<text::Example>& examples) const {
  if (train::Trainer::has_checkpoint(folder_)) return;
  if (from_) {
    copy_tokenizer(*from_);
    return;
  }
  std::size_t next = 0;
  const bool pairs = options_.task == Task::translate;
  const auto texts = [&]() -> std::optional<std::string> {
    if (next == examples.size() * (pairs ? 2 : 1)) return std::nullopt;
    const text::Example& example = examples[next % examples.size()];
    return next++ < examples.size() ? example.text : example.label;
  };
  or_usage([&] {
    text::train_tokenizer({.scheme = scheme_of(options_.task),
                           .vocabulary = options_.shape.vocabulary,
                           .least_count = pairs ? 1 : 2,
                           .lower_case = !pairs},
                          texts, folder_);
  });
}

std::unique_ptr<train::TrainableModel> Training::make_trainable(const text::Tokenizer& tokenizer,
                                                                const train::TrainingCorpus& corpus) const {
  train::ModelSize shape = options_.shape;
  shape.vocabulary = tokenizer.size();
  if (first_) {
    shape = *first_;
    shape.layers = options_.layers.value_or(first_->layers);
    shape.dropout = options_.shape.dropout;
  } else if (options_.layers) {
    shape.layers = *options_.layers;
  }
  shape.labels = corpus.labels;
  if (shape.positions == 0) shape.positions = options_.batches.length;
  if (shape.positions < options_.batches.length) {
    throw UsageError(
        fmt::format("sequences of {} tokens are longer than the {} positions that the model has; use "
                    "--length {} or --positions {}",
                    options_.batches.length, shape.positions, shape.positions, options_.batches.length));
  }
  std::unique_ptr<train::TrainableModel> model = or_usage([&] { return train::make_trainable(options_.task, shape); });
  model->initialise(options_.plan.seed);
  if (from_ && train::take_weights(*model, *from_) == 0) {
    throw UsageError(from_->name() + " has no weights that this task can start from");
  }
  return model;
}

void Training::check_probe(const text::Tokenizer& tokenizer, std::int64_t positions) const {
  if (options_.record_every == 0) return;
  const auto tokens = std::ssize(tokenizer.ids(options_.probe));
  if (tokens == 0 || tokens > positions) {
    throw UsageError(fmt::format("--probe has {} tokens; the model takes 1 to {}", tokens, positions));
  }
}

train::Trainer::Facts Training::facts(const train::TrainableModel& model, const train::TrainingCorpus& corpus) const {
  const train::ModelSize& shape = model.shape();
  return {{"task", std::string(name_of(options_.task))},
          {"layers", std::to_string(shape.layers)},
          {"heads", std::to_string(shape.heads)},
          {"width", std::to_string(shape.width)},
          {"inner", std::to_string(shape.inner_width())},
          {"positions", std::to_string(shape.positions)},
          {"vocabulary", std::to_string(shape.vocabulary)},
          {"dropout", fmt::format("{}", shape.dropout)},
          {"batch", std::to_string(options_.batches.batch)},
          {"length", std::to_string(options_.batches.length)},
          {"masked", fmt::format("{}", options_.batches.masked)},
          {"repeats", fmt::format("{}", options_.batches.repeats)},
          {"held_out", fmt::format("{}", options_.held_out)},
          {"from", options_.from.value_or("")},
          {"judge_every", std::to_string(options_.evaluate_every)},
          {"data", fmt::format("{:016x}", corpus.fingerprint)}};
}

// Throws UsageError if --from does not fit the task, before anything is read or written.
void Training::look_at_first() {
  if (!options_.from) return;
  from_ = ModelOption{.name = *options_.from}.folder();
  first_ = or_usage([&] { return shape_of(*from_, options_.task); });
  if (!options_.layers || *options_.layers <= first_->layers) return;
  throw UsageError(
      fmt::format("{} has {} layers, fewer than --layers {}", *options_.from, first_->layers, *options_.layers));
}

std::vector<text::Example> Training::read() {
  if (options_.batches.batch < ranks_.size()) {
    throw UsageError(fmt::format("--batch {} is too small for {} processes", options_.batches.batch, ranks_.size()));
  }
  look_at_first();
  return text::read_examples(options_.data, wanted_by(options_.task),
                             {.text = options_.text_column, .label = options_.label_column});
}

void Training::run() {
  watch_for_interrupt();
  wait_with("reading " + options_.data);
  const std::vector<text::Example> examples = on_all(ranks_, [&] { return read(); });
  wait_with(fmt::format("training a tokenizer on {} texts", grouped(std::ssize(examples))));
  once([&] {
    make_folder();
    lock_.emplace(folder_, "another training writes to it; wait until it ends, or choose another folder");
    base::remove_unfinished(folder_ / "recordings");  // the folder itself is cleaned when its first file is written
    make_tokenizer(examples);
  });
  wait_with(fmt::format("tokenizing {} texts", grouped(std::ssize(examples))));
  const text::Tokenizer tokenizer = on_all(ranks_, [&] { return text::Tokenizer::load(folder_); });
  const train::TrainingCorpus corpus = on_all(ranks_, [&] {
    return or_usage([&] { return make_corpus(examples, options_.task, tokenizer, options_.held_out, pool_); });
  });
  train::BatchPlan plan = options_.batches;
  plan.task = options_.task;
  plan.seed = options_.plan.seed;
  const std::unique_ptr<train::BatchSource> batches = on_all(ranks_, [&] {
    if (interrupted()) throw Interrupted();
    return or_usage([&] { return make_batches(plan, corpus, tokenizer); });
  });
  std::unique_ptr<train::TrainableModel> model = on_all(ranks_, [&] {
    std::unique_ptr<train::TrainableModel> made = make_trainable(tokenizer, corpus);
    check_probe(tokenizer, made->shape().positions);
    return made;
  });
  tell(fmt::format("{} texts, {} tokens to train on, {} texts held out; {} tokens in the vocabulary; {} parameters",
                   grouped(std::ssize(corpus.learned.ids)), grouped(corpus.tokens()),
                   grouped(std::ssize(corpus.held_out.ids)), grouped(tokenizer.size()),
                   grouped(model->parameters().count())));
  train::Trainer::Facts known = facts(*model, corpus);
  train::Trainer trainer(std::move(model), *batches, options_.plan, std::move(known), ranks_);
  go_on(trainer);
  learn(trainer);
  once([&] { finish(trainer); });
}

// Each rank reads the checkpoint itself. The schedule must be the same on all ranks: an evaluation that only some of
// them run would wait forever.
void Training::go_on(train::Trainer& trainer) {
  const bool found = on_all(ranks_, [&] { return trainer.resume(folder_); });
  const std::string disagreement =
      trainer.disagreement({{"checkpoint-every", std::to_string(options_.checkpoint_every)},
                            {"record-every", std::to_string(options_.record_every)}});
  if (!disagreement.empty()) throw FailedTogether(disagreement, 1);
  // The earlier run may have been killed between its last checkpoint and the model.
  if (found && trainer.done()) once([&] { trainer.save_model(folder_, false); });
  if (found) tell(fmt::format("resuming from step {}", grouped(trainer.steps_done())));
  first_step_ = trainer.steps_done();
}

void Training::show(const train::Trainer& trainer, const train::Trainer::Step& step) {
  loss_ = loss_ == 0 ? step.loss : 0.98 * loss_ + 0.02 * step.loss;
  if (!bar_.due()) return;
  const std::int64_t done = trainer.steps_done(), all = trainer.plan().steps;
  const double left = seconds_ / static_cast<double>(done - first_step_) * static_cast<double>(all - done);
  bar_.show(static_cast<double>(done) / static_cast<double>(all),
            fmt::format("step {} of {}  loss {:.3f}  {} tokens/s  {}:{:02} left", grouped(done), grouped(all), loss_,
                        grouped(static_cast<long long>(static_cast<double>(tokens_) / seconds_)),
                        static_cast<int>(left) / 60, static_cast<int>(left) % 60));
}

// Runs what is due between two steps. The checkpoint comes last, so that it includes the evaluation.
void Training::after_step(train::Trainer& trainer, std::optional<HeadWatch>& watch, bool& saved) {
  const std::int64_t done = trainer.steps_done();
  const auto due = [&](std::int64_t every) { return every > 0 && (done % every == 0 || trainer.done()); };
  const std::vector<train::Evaluation>& evaluated = trainer.history().evaluated;
  if (due(options_.evaluate_every) && done > 0 && (evaluated.empty() || evaluated.back().step != done)) {
    const std::optional<train::Evaluation> evaluation = trainer.evaluate(pool_, interrupted);
    if (evaluation) {
      saved = false;
      tell(fmt::format("step {:>7}  loss {:.4f}  held out {:.4f}, {:.2f}% right  {} tokens/s", grouped(done), loss_,
                       evaluation->loss, 100 * evaluation->accuracy,
                       grouped(static_cast<long long>(static_cast<double>(tokens_) / std::max(seconds_, 1e-9)))));
    }
  }
  if (due(options_.record_every)) {
    once([&] {
      if (watch->saw(done)) return;
      trainer.save_model(folder_, false);
      watch->look(done, pool_);
      watch->write();
    });
  }
  if (done > 0 && !saved && due(options_.checkpoint_every)) {
    once([&] {
      trainer.save(folder_);
      write_losses(trainer.history(), folder_);
    });
    kept_ = done;
    saved = true;
  }
}

void Training::learn(train::Trainer& trainer) {
  std::optional<HeadWatch> watch;  // on rank 0 only
  if (options_.record_every > 0) once([&] { watch.emplace(folder_, options_.probe, trainer.steps_done()); });
  kept_ = trainer.steps_done();
  bool saved = kept_ > 0;
  try {
    after_step(trainer, watch, saved);  // what an earlier run was stopped before doing
    while (!trainer.done()) {
      const auto begin = std::chrono::steady_clock::now();
      const train::Trainer::Step step = trainer.step(pool_, interrupted);
      seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      tokens_ += step.tokens;
      saved = false;
      if (leads()) show(trainer, step);
      if (step.stop && !trainer.done()) throw train::Stopped();
      after_step(trainer, watch, saved);
    }
  } catch (const train::Stopped&) {
    stop(trainer, saved);
  } catch (const train::Diverged& problem) {
    bar_.clear();
    on_all(ranks_, [&] {
      throw Error(options_.to, fmt::format("{}; {}", problem.what(),
                                           kept_ > 0 ? fmt::format("the checkpoint of step {} is kept", kept_)
                                                     : std::string("there is no checkpoint yet")));
    });
  }
}

void Training::stop(const train::Trainer& trainer, bool saved) {
  bar_.clear();
  once([&] {
    if (!saved) trainer.save(folder_);
  });
  on_all(ranks_, [&] {
    throw Interrupted{fmt::format("stopped after step {} of {}; rerun the command to resume", trainer.steps_done(),
                                  trainer.plan().steps)};
  });
}

void Training::finish(const train::Trainer& trainer) {
  bar_.clear();
  if (options_.half) trainer.save_model(folder_, true);
  write_losses(trainer.history(), folder_);
  const train::History& history = trainer.history();
  if (options_.json) {
    Json json = {{"task", std::string(name_of(options_.task))},
                 {"folder", options_.to},
                 {"steps", trainer.steps_done()},
                 {"tokens", tokens_},
                 {"seconds", seconds_},
                 {"loss", history.losses.empty() ? Json() : Json(history.losses.back())}};
    if (!history.evaluated.empty()) {
      json["held_out_loss"] = history.evaluated.back().loss;
      json["held_out_accuracy"] = history.evaluated.back().accuracy;
      json["held_out_right"] = history.evaluated.back().accuracy;  // its name in version 0.1
    }
    print(as_line(json));
    return;
  }
  say(fmt::format("done: use it with --model {}; loss.svg shows the loss curve", options_.to));
}

}  // namespace

void train_model(const TrainOptions& options, Shell& shell) { Training(options, shell).run(); }

}  // namespace attn::cli
