#include "apps/cli/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "apps/cli/options/paths.h"
#include "apps/cli/options/ranks.h"
#include "attn/error.h"
#include "builtin/models.h"
#include "model/run/model.h"

namespace attn::cli {

ThreadPool& Shell::pool() {
  const char* environment = std::getenv("ATTNSCOPE_THREADS");
  std::string asked = environment == nullptr ? "" : environment;
  if (threads == 0 && !asked.empty() && !CLI::Range(1, 1024)(asked).empty()) {
    throw UsageError("ATTNSCOPE_THREADS must be a whole number from 1 to 1024, not '" + asked + "'");
  }
  if (!pool_) pool_ = std::make_unique<ThreadPool>(threads == 0 && asked.empty() ? fair_threads() : threads);
  return *pool_;
}

void add_commands(CLI::App& app, Shell& shell) {
  add_tour(app, shell);
  add_view(app, shell);
  add_tokenize(app, shell);
  add_weights(app, shell);
  add_analyze(app, shell);
  add_find(app, shell);
  add_record(app, shell);
  add_fill(app, shell);
  add_classify(app, shell);
  add_generate(app, shell);
  add_pull(app, shell);
  add_models(app, shell);
  add_explain(app, shell);
  add_trace(app, shell);
  add_ablate(app, shell);
  add_rollout(app, shell);
  add_flow(app, shell);
  add_compare(app, shell);
  add_heatmap(app, shell);
  add_heads(app, shell);
  add_headview(app, shell);
  add_overview(app, shell);
  add_mask(app, shell);
  add_train(app, shell);
  add_lesson(app, shell);
  add_examples(app);
  refuse_several(app);
  keep_paths_apart(app);
}

void ModelOption::add_to(CLI::App& command) {
  CLI::Option* option = command.add_option(
      "--model,-m", name,
      "Model: a name that attnscope models lists, or a folder with config.json, model.safetensors and a tokenizer");
  option->type_name("DIR|NAME");
  if (known()) option->default_str(otherwise);
}

bool ModelOption::known() const { return !name.empty() || builtin::find_model(otherwise) != nullptr; }

const std::string& ModelOption::chosen() const {
  if (!known())
    throw UsageError("choose a model with --model (a folder, or a name from attnscope models): this build has no " +
                     otherwise);
  return name.empty() ? otherwise : name;
}

namespace {

// Printed by rank 0 only.
template <typename... Words>
void note(fmt::format_string<const Words&...> form, const Words&... words) {
  if (Launched::by_environment().rank == 0) fmt::print(stderr, "note: {}\n", fmt::format(form, words...));
}

}  // namespace

base::Folder ModelOption::folder() const {
  const std::string& which = chosen();
  std::error_code ignored;
  base::Folder found = builtin::folder_of(which);
  if (found.built_in() && !name.empty() && std::filesystem::is_directory(which, ignored))
    note("using the built-in model {0}; write ./{0} for the folder", which);
  if (found.built_in() && name.empty() && isatty(STDERR_FILENO) != 0)
    note("using {} (choose another with --model)", which);
  return found;
}

void TextOption::add_to(CLI::App& command, const std::string& what, const std::string& names) {
  auto* by_text = command.add_option(names, text, what)->type_name("TEXT");
  auto* by_file =
      command.add_option("--file,-f", file, "File to read the text from; - is standard input")->type_name("FILE");
  by_text->excludes(by_file);
  name = names.substr(0, names.find(','));
}

std::string TextOption::read() const {
  if (text) return *text;
  if (!file) throw UsageError("no text: give " + name + " or --file");
  if (*file == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  if (std::filesystem::is_directory(*file)) throw Error(*file, "cannot be read: it is a folder");
  std::ifstream in(*file, std::ios::binary);
  std::string all;
  if (in) all.assign(std::istreambuf_iterator<char>(in), {});
  if (!in) throw Error(*file, "cannot be read: " + std::string(std::strerror(errno)));
  return all;
}

CLI::Option* at_least(std::int64_t least, CLI::Option* option) {
  return option->check(CLI::Validator(
      [least](std::string& given) {
        std::int64_t number = 0;
        if (CLI::detail::lexical_cast(given, number) && number >= least) return std::string();
        return fmt::format("must be a whole number of at least {}, not '{}'", least, given);
      },
      ""));
}

namespace {
void note_old_name(const std::string& old_name, const std::string& new_name) {
  note("{} is called {} now; the next version removes the old name", old_name, new_name);
}
}  // namespace

void add_old_flag(CLI::App& command, const std::string& old_name, const std::string& new_name, bool& value) {
  command
      .add_flag_callback(old_name,
                         [&value, old_name, new_name] {
                           value = true;
                           note_old_name(old_name, new_name);
                         })
      ->group("");
}

CLI::Option* add_old_option(CLI::App& command, const std::string& old_name, const std::string& new_name,
                            std::int64_t& value) {
  return command
      .add_option_function<std::int64_t>(old_name,
                                         [&value, old_name, new_name](const std::int64_t& given) {
                                           value = given;
                                           note_old_name(old_name, new_name);
                                         })
      ->group("");
}

void note_training_length(const model::Facts& facts, std::int64_t tokens) {
  if (facts.trained_tokens == 0 || tokens <= facts.trained_tokens) return;
  note("{} tokens; this {} was trained on at most {}", tokens, facts.type, facts.trained_tokens);
}

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
  throw std::runtime_error("the output could not be written: " + std::string(std::strerror(errno)));
}

namespace {
volatile std::sig_atomic_t interrupt_seen = 0;
}  // namespace

void watch_for_interrupt() {
  struct sigaction action{};
  action.sa_handler = [](int) { interrupt_seen = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() noexcept { return interrupt_seen != 0; }

void end_interrupted() {
  std::fflush(stdout);
  std::signal(SIGINT, SIG_DFL);
  std::raise(SIGINT);
  std::_Exit(130);
}

std::string human_bytes(double bytes) {
  constexpr std::array<const char*, 4> kUnits = {"B", "kB", "MB", "GB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < kUnits.size(); ++unit) bytes /= 1000;
  const int digits = unit == 0 || bytes >= 100 ? 0 : 1;
  return fmt::format("{:.{}f} {}", bytes, digits, kUnits[unit]);
}

}  // namespace attn::cli
