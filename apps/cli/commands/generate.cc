// apps/cli/commands/generate.cc - attnscope generate: text, one token at a time.
#include "model/run/generate.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

#include "apps/cli/command.h"
#include "apps/cli/output/json.h"
#include "apps/cli/output/terminal.h"
#include "model/run/prepare.h"

namespace attn::cli {

namespace {

struct GenerateCommand {
  ModelOption model;
  TextOption text;
  model::Generation how{.tokens = 100, .sampling = {}};
  bool json = false;

  void run(ThreadPool& pool) const;
};

// Prints text as soon as its characters are complete, or, if silent, only collects it.
class Voice {
 public:
  Voice(const text::Tokenizer& tokenizer, bool silent) : stream_(tokenizer), silent_(silent) {}

  void say(std::int32_t id) { emit(stream_.add(id)); }
  void end() { emit(stream_.finish()); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void emit(const std::string& piece) {
    text_ += piece;
    if (!silent_ && !piece.empty()) print(piece);
  }

  text::TextStream stream_;
  std::string text_;
  bool silent_;
};

struct ElapsedTime {
  using Time = std::chrono::steady_clock;
  Time::time_point start = Time::now();
  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(Time::now() - start).count(); }
};

// Throws UsageError for wrong sampling options, before anything is loaded.
void check(const model::Sampling& sampling) {
  try {
    static_cast<void>(model::Sampler(sampling));
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
}

void note_ignored_rules(const model::Facts& facts) {
  std::string names;
  for (const std::string& name : facts.rules.ignored) names += (names.empty() ? "" : ", ") + name;
  if (!names.empty()) std::fprintf(stderr, "note: ignoring settings of the model: %s\n", names.c_str());
}

void GenerateCommand::run(ThreadPool& pool) const {
  check(how.sampling);
  const std::string prompt = text.read();
  const model::Reader reader = model::Reader::load(model.folder());
  if (reader.model->facts().form == model::Form::encoder) {
    throw std::invalid_argument("a " + reader.model->facts().type +
                                " is an encoder and cannot generate text; try attnscope fill");
  }
  const std::vector<std::int32_t> ids = or_usage([&] { return model::prompt_ids(reader, prompt); });
  Voice voice(reader.tokenizer, json);
  const model::Facts& facts = reader.model->facts();
  const bool continues = facts.form == model::Form::decoder;
  for (const std::int32_t id : continues ? ids : std::vector<std::int32_t>{}) voice.say(id);

  note_ignored_rules(facts);
  note_training_length(facts, std::ssize(ids) + how.tokens);
  watch_for_interrupt();
  ElapsedTime all;
  double first = 0;  // seconds to the first token: the prompt is read in one pass
  std::int64_t made = 0;
  const auto on_token = [&](std::int32_t id) {
    if (made++ == 0) first = all.seconds();
    voice.say(id);
    return !interrupted();
  };
  const std::vector<std::int32_t> fresh = model::generate(*reader.model, ids, how, {.pool = pool}, on_token);
  const double seconds = all.seconds();
  voice.end();
  const double speed = made > 1 ? static_cast<double>(made - 1) / (seconds - first) : 0;
  if (json) {
    print(as_line({{"prompt", prompt},
                   {"text", voice.text()},
                   {"ids", fresh},
                   {"prompt_ids", ids},
                   {"seconds", static_cast<float>(seconds)},
                   {"tokens_per_second", static_cast<float>(speed)}}));
  } else {
    print("\n");
    fmt::print(stderr, "{} tokens, {:.1f} per second; the first after {:.0f} ms\n", made, speed, first * 1e3);
  }
  const std::int64_t length = made + (continues ? std::ssize(ids) : 1);
  if (made < how.tokens && facts.max_tokens > 0 && length > facts.max_tokens) {
    std::fprintf(stderr, "note: stopped because this %s has only %lld positions\n", facts.type.c_str(),
                 static_cast<long long>(facts.max_tokens));
  }
  if (interrupted()) end_interrupted();
}

}  // namespace

void add_generate(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<GenerateCommand>();
  CLI::App* command = app.add_subcommand("generate", "Continue a text, or translate it with an encoder-decoder");
  options->model.otherwise = "tiny-gpt";
  options->model.add_to(*command);
  options->text.add_to(*command, "Text to continue or to translate", "--prompt,-p");
  command->add_option("--tokens,-n", options->how.tokens, "Maximum number of tokens to generate")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
      ->type_name("N")
      ->capture_default_str();
  model::Sampling& sampling = options->how.sampling;
  command->add_option("--temperature", sampling.temperature, "Sampling temperature; 0: always the likeliest token")
      ->check(CLI::Range(0.0, 100.0))
      ->type_name("T")
      ->capture_default_str();
  at_least(0, command->add_option("--top-k", sampling.top_k, "Number of likeliest tokens to sample from; 0: all"))
      ->type_name("K")
      ->capture_default_str();
  command->add_option("--top-p", sampling.top_p, "Probability mass of the likeliest tokens to sample from")
      ->check(CLI::Range(1e-9, 1.0))
      ->type_name("P")
      ->capture_default_str();
  command->add_option("--seed", sampling.seed, "Seed for sampling; the same seed gives the same text")
      ->type_name("S")
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print one line of JSON at the end: text, ids, tokens_per_second");
  command->callback([options, &shell] { options->run(shell.pool()); });
}

}  // namespace attn::cli
