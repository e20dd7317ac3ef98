// apps/cli/commands/train.cc - attnscope train: options for training a model on your own texts.
#include "apps/cli/commands/train.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "apps/cli/command.h"

namespace attn::cli {

namespace {

using train::Task;

// A task's defaults: small enough for a training of minutes on two cores.
TrainOptions usual(Task task) {
  TrainOptions options;
  options.task = task;
  options.shape = {.layers = 4, .heads = 4, .width = 128, .vocabulary = 8000, .labels = {}};
  options.batches = {.batch = 32, .length = 128};
  options.probe = "The cat sat on the mat because it was tired.";
  switch (task) {
    case Task::lm:
      options.shape.vocabulary = 4096;
      break;
    case Task::mlm:
      break;
    case Task::classify:
      options.shape.layers = 2;
      options.shape.dropout = 0.1F;
      options.batches.length = 256;
      options.plan.rate = 5e-4;
      break;
    case Task::translate:
      options.shape.layers = 2;
      options.shape.vocabulary = 0;
      options.batches.batch = 64;
      options.batches.length = 32;
      options.probe = "I love you";
      break;
  }
  return options;
}

// --from has a shape of its own and excludes most of these.
void add_shape(CLI::App& command, TrainOptions& options, CLI::Option* from) {
  train::ModelSize& shape = options.shape;
  at_least(1, command.add_option("--layers", options.layers,
                                 "Number of layers, in encoder and decoder alike; with --from, how many to keep"))
      ->default_str(std::to_string(shape.layers));
  CLI::Option* const own[] = {
      at_least(1, command.add_option("--heads", shape.heads, "Number of heads per layer"))->capture_default_str(),
      at_least(1, command.add_option("--width", shape.width, "Width of the hidden states, divided among the heads"))
          ->capture_default_str(),
      at_least(1,
               command.add_option("--inner", shape.inner, "Width of the feed-forward layers (default: 4 x --width)")),
      at_least(1, command.add_option("--positions", shape.positions,
                                     "Maximum number of tokens the model can take (default: --length)")),
      at_least(0, command.add_option("--vocabulary", shape.vocabulary,
                                     "Size of the trained tokenizer's vocabulary; 0: all words of the texts"))
          ->capture_default_str()};
  if (from != nullptr) {
    for (CLI::Option* option : own) option->excludes(from);
  }
  command.add_option("--dropout", shape.dropout, "Share of activations to drop during training")
      ->check(CLI::Range(0.0, 0.95))
      ->capture_default_str();
}

void add_plan(CLI::App& command, TrainOptions& options) {
  at_least(1, command.add_option("--steps", options.plan.steps, "Number of training steps"))->capture_default_str();
  at_least(1, command.add_option("--batch", options.batches.batch, "Sequences per step, over all processes"))
      ->capture_default_str();
  at_least(2, command.add_option("--length", options.batches.length, "Maximum number of tokens per sequence"))
      ->capture_default_str();
  command.add_option("--rate", options.plan.rate, "Peak learning rate")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  at_least(0, command.add_option("--warmup", options.plan.warmup, "Warm-up steps before the peak learning rate"))
      ->capture_default_str();
  command.add_option("--decay", options.plan.decay, "Weight decay for matrices")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--clip", options.plan.clip, "Largest norm of the gradient; 0: no clipping")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--seed", options.plan.seed, "Seed for initial weights, data order and dropout")
      ->capture_default_str();
  command.add_option("--held-out", options.held_out, "Share of texts to hold out for evaluation")
      ->check(CLI::Range(0.0, 0.9))
      ->capture_default_str();
}

void add_outputs(CLI::App& command, TrainOptions& options) {
  at_least(1, command.add_option("--checkpoint-every", options.checkpoint_every, "Steps between checkpoints"))
      ->capture_default_str();
  at_least(
      1, command.add_option("--evaluate-every", options.evaluate_every, "Steps between evaluations on held-out texts"))
      ->capture_default_str();
  at_least(1, add_old_option(command, "--judge-every", "--evaluate-every", options.evaluate_every));
  at_least(0, command.add_option("--record-every", options.record_every,
                                 "Steps between recordings of --probe, to watch heads form; 0: never"))
      ->capture_default_str();
  command.add_option("--probe", options.probe, "Text to record")->type_name("TEXT")->capture_default_str();
  command.add_flag("--half", options.half, "Store the final model.safetensors in 16 bits");
  command.add_flag("--json", options.json, "Print one line of JSON at the end, and nothing else");
}

void add_task(CLI::App& train, Task task, const std::string& what, Shell& shell) {
  auto options = std::make_shared<TrainOptions>(usual(task));
  CLI::App* command = train.add_subcommand(std::string(name_of(task)), what);
  command
      ->add_option("--data,-d", options->data,
                   "Texts to train on: a CSV, JSONL or text file (one text per line), or a folder of text files")
      ->required()
      ->type_name("PATH");
  command->add_option("--to,-o", options->to, "Folder for the model; an earlier run found there is resumed")
      ->required()
      ->type_name("DIR");
  CLI::Option* from = nullptr;
  if (task != Task::translate) {
    from = command->add_option("--from", options->from, "Model to start from: its shape, weights and tokenizer");
    from->type_name("DIR|NAME");
  }
  command->add_option("--text-column", options->text_column, "Column or key that holds the texts")->type_name("NAME");
  if (task == Task::classify || task == Task::translate) {
    command
        ->add_option("--label-column", options->label_column,
                     task == Task::classify ? "Column or key that holds the labels"
                                            : "Column or key that holds the translations")
        ->type_name("NAME");
  }
  if (task == Task::mlm) {
    command->add_option("--masked", options->batches.masked, "Share of tokens to mask and predict")
        ->check(CLI::Range(0.01, 0.9))
        ->capture_default_str();
  }
  if (task == Task::lm) {
    command
        ->add_option("--repeats", options->batches.repeats,
                     "Share of sequences of repeated random tokens, which make induction heads form sooner")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
  }
  add_shape(*command, *options, from);
  add_plan(*command, *options);
  add_outputs(*command, *options);
  command->callback([options, &shell] { train_model(*options, shell); });
}

}  // namespace

void add_train(CLI::App& app, Shell& shell) {
  CLI::App* train = app.add_subcommand("train", "Train a model on your own texts and watch its heads form");
  train->require_subcommand(1);
  add_task(*train, Task::lm, "Train a GPT-2 that continues texts", shell);
  add_task(*train, Task::mlm, "Train a BERT that fills in masked words", shell);
  add_task(*train, Task::classify, "Train a BERT that classifies texts", shell);
  add_task(*train, Task::translate, "Train an encoder-decoder (BART) that translates texts", shell);
}

}  // namespace attn::cli
