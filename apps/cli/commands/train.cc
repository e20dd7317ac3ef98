// apps/cli/commands/train.cc - attnscope train: models that learn from a user's own texts.
#include "apps/cli/commands/train.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "apps/cli/command.h"

namespace attn::cli {

namespace {

using train::Task;

// What a task begins with, unless it is asked for something else: minutes on two cores.
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

// A model to begin with has a shape of its own.
void add_shape(CLI::App& command, TrainOptions& options, CLI::Option* from) {
  train::ModelSize& shape = options.shape;
  at_least(1, command.add_option("--layers", options.layers,
                                 "Layers, of encoder and decoder each where there are both; of --from, its first"))
      ->default_str(std::to_string(shape.layers));
  CLI::Option* const own[] = {
      at_least(1, command.add_option("--heads", shape.heads, "Heads a layer"))->capture_default_str(),
      at_least(1, command.add_option("--width", shape.width, "Numbers a token; the heads share them"))
          ->capture_default_str(),
      at_least(1,
               command.add_option("--inner", shape.inner, "Numbers inside feed-forward layers (default: 4 x width)")),
      at_least(1,
               command.add_option("--positions", shape.positions, "The longest text it can take (default: --length)")),
      at_least(0, command.add_option("--vocabulary", shape.vocabulary,
                                     "Tokens of the tokenizer that is trained; 0: all words of the texts"))
          ->capture_default_str()};
  if (from != nullptr) {
    for (CLI::Option* option : own) option->excludes(from);
  }
  command.add_option("--dropout", shape.dropout, "Share of numbers that are dropped while it learns")
      ->check(CLI::Range(0.0, 0.95))
      ->capture_default_str();
}

void add_plan(CLI::App& command, TrainOptions& options) {
  at_least(1, command.add_option("--steps", options.plan.steps, "Steps"))->capture_default_str();
  at_least(1, command.add_option("--batch", options.batches.batch, "Sequences a step, of all processes together"))
      ->capture_default_str();
  at_least(2, command.add_option("--length", options.batches.length, "Tokens of the longest sequence"))
      ->capture_default_str();
  command.add_option("--rate", options.plan.rate, "The highest learning rate")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  at_least(0, command.add_option("--warmup", options.plan.warmup, "Steps in which it is reached"))
      ->capture_default_str();
  command.add_option("--decay", options.plan.decay, "Weight decay of matrices")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--clip", options.plan.clip, "The largest norm of the gradients; 0: any")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--seed", options.plan.seed, "Of first weights, order, dropout")->capture_default_str();
  command.add_option("--held-out", options.held_out, "Share of texts that are kept apart to judge by")
      ->check(CLI::Range(0.0, 0.9))
      ->capture_default_str();
}

void add_outputs(CLI::App& command, TrainOptions& options) {
  at_least(1, command.add_option("--checkpoint-every", options.checkpoint_every, "Steps between checkpoints"))
      ->capture_default_str();
  at_least(1, command.add_option("--judge-every", options.evaluate_every, "Steps between judgements on held-out texts"))
      ->capture_default_str();
  at_least(0, command.add_option("--record-every", options.record_every,
                                 "Steps between recordings of --probe, to watch heads form; 0: none"))
      ->capture_default_str();
  command.add_option("--probe", options.probe, "The text that is recorded")->type_name("TEXT")->capture_default_str();
  command.add_flag("--half", options.half, "Numbers of 16 bits in the finished model.safetensors");
  command.add_flag("--json", options.json, "One line of JSON at the end, and nothing else");
}

void add_task(CLI::App& train, Task task, const std::string& what, Shell& shell) {
  auto options = std::make_shared<TrainOptions>(usual(task));
  CLI::App* command = train.add_subcommand(std::string(name_of(task)), what);
  command->add_option("--data,-d", options->data, "A CSV, JSONL or text file (a text a line), or a folder of texts")
      ->required()
      ->type_name("PATH");
  command->add_option("--to,-o", options->to, "The model's folder; what an earlier run left there is gone on with")
      ->required()
      ->type_name("DIR");
  CLI::Option* from = nullptr;
  if (task != Task::translate) {
    from = command->add_option("--from", options->from, "Begin with this model: its shape, weights and tokenizer");
    from->type_name("DIR|NAME");
  }
  command->add_option("--text-column", options->text_column, "The column or key that holds the texts")
      ->type_name("NAME");
  if (task == Task::classify || task == Task::translate) {
    command
        ->add_option("--label-column", options->label_column,
                     task == Task::classify ? "That of their labels" : "That of their translations")
        ->type_name("NAME");
  }
  if (task == Task::mlm) {
    command->add_option("--masked", options->batches.masked, "Share of tokens that are asked for")
        ->check(CLI::Range(0.01, 0.9))
        ->capture_default_str();
  }
  if (task == Task::lm) {
    command
        ->add_option("--repeats", options->batches.repeats,
                     "Share of sequences that are random tokens again and again: induction heads form sooner")
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
  CLI::App* train = app.add_subcommand("train", "Train a model on your own texts, and watch its heads form");
  train->require_subcommand(1);
  add_task(*train, Task::lm, "A GPT-2 that goes on with a text", shell);
  add_task(*train, Task::mlm, "A BERT that fills in words", shell);
  add_task(*train, Task::classify, "A BERT that tells texts apart by their labels", shell);
  add_task(*train, Task::translate, "An encoder-decoder (BART) that turns texts into others", shell);
}

}  // namespace attn::cli
