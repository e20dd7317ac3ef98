// apps/cli/command.h - what the subcommands have in common.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "attn/ranks.h"
#include "attn/thread_pool.h"
#include "base/folder.h"
#include "figure/terminal/columns.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own
class App;
class Option;
}  // namespace CLI

namespace attn::model {
struct Facts;
}

namespace attn::cli {

// A command line that cannot be carried out: exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Runs call() and turns std::invalid_argument into UsageError.
template <typename Call>
decltype(auto) or_usage(const Call& call) {
  try {
    return call();
  } catch (const std::invalid_argument& wrong) {
    throw UsageError(wrong.what());
  }
}

class World;  // ranks.h

// What commands share. Threads and MPI start on first use: commands that only print need neither.
class Shell {
 public:
  Shell();
  ~Shell();

  int threads = 0;  // 0: default_threads(), divided among the ranks of one machine

  ThreadPool& pool();
  // This process and those launched with it. Commands that can use several call this before anything else.
  Ranks& ranks();

  // Runs the whole program. An exception becomes one line on standard error, printed by one rank, and the exit code.
  int guard(const std::function<int()>& program);

 private:
  int guarded(const std::function<int()>& program);
  int fail(const std::string& what, int code);

  std::unique_ptr<World> world_;
  std::unique_ptr<ThreadPool> pool_;
};

// Prints a line on standard error and returns the code.
int say_failure(const std::string& what, int code);

// Each adds one subcommand, which runs as soon as the command line has been parsed.
void add_tour(CLI::App& app, Shell& shell);
void add_tokenize(CLI::App& app, Shell& shell);
void add_weights(CLI::App& app, Shell& shell);
void add_record(CLI::App& app, Shell& shell);
void add_fill(CLI::App& app, Shell& shell);
void add_classify(CLI::App& app, Shell& shell);
void add_generate(CLI::App& app, Shell& shell);
void add_pull(CLI::App& app, Shell& shell);
void add_models(CLI::App& app, Shell& shell);
void add_explain(CLI::App& app, Shell& shell);
void add_trace(CLI::App& app, Shell& shell);
void add_ablate(CLI::App& app, Shell& shell);
void add_rollout(CLI::App& app, Shell& shell);
void add_flow(CLI::App& app, Shell& shell);
void add_compare(CLI::App& app, Shell& shell);
void add_heatmap(CLI::App& app, Shell& shell);
void add_heads(CLI::App& app, Shell& shell);
void add_headview(CLI::App& app, Shell& shell);
void add_overview(CLI::App& app, Shell& shell);
void add_mask(CLI::App& app, Shell& shell);
void add_train(CLI::App& app, Shell& shell);
void add_lesson(CLI::App& app, Shell& shell);
void add_analyze(CLI::App& app, Shell& shell);
void add_find(CLI::App& app, Shell& shell);
void add_view(CLI::App& app, Shell& shell);
// Appends a section "Examples:" to the help of every command added so far (examples.cc).
void add_examples(CLI::App& app);
// Adds all of them, with the examples of examples.cc. Under mpirun, commands that cannot use several processes throw
// UsageError.
void add_commands(CLI::App& app, Shell& shell);

// --model: the name of a built-in model, a folder in the Hugging Face layout, or the name of a model in the hub's
// cache. A bare NAME prefers the built-in model; ./NAME is always the folder.
struct ModelOption {
  std::string name;                     // empty: not on the command line
  std::string otherwise = "tiny-bert";  // the default: a built-in model, if this build has it

  void add_to(CLI::App& command);
  // Whether a model was named or there is a default.
  [[nodiscard]] bool known() const;
  // The model's name as written on the command line, or the default. Throws UsageError if there is neither.
  [[nodiscard]] const std::string& chosen() const;
  // Throws UsageError and attn::Error. On a terminal, a note on standard error names the default model when it is used.
  [[nodiscard]] base::Folder folder() const;
};

// --text TEXT (or another name), or --file FILE ("-": standard input).
struct TextOption {
  std::optional<std::string> text, file;
  std::string name = "--text";

  void add_to(CLI::App& command, const std::string& what, const std::string& names = "--text,-t");
  [[nodiscard]] std::string read() const;  // throws attn::Error, UsageError
};

// Restricts the option to whole numbers of at least `least`.
CLI::Option* at_least(std::int64_t least, CLI::Option* option);

// Prints a note on standard error if a text is longer than those the model was trained on.
// A flag's name of an earlier version: it still works, is not listed, and says its new name on standard error.
void add_old_flag(CLI::App& command, const std::string& old_name, const std::string& new_name, bool& value);
// The same for an option that takes a whole number.
CLI::Option* add_old_option(CLI::App& command, const std::string& old_name, const std::string& new_name,
                            std::int64_t& value);

void note_training_length(const model::Facts& facts, std::int64_t tokens);

// Writes to standard output and flushes. Throws std::runtime_error if that fails.
void print(std::string_view text);

// Thrown to unwind after Ctrl-C, so that destructors remove unfinished files.
struct Interrupted {
  std::string words;  // a line to print; may be empty
};

// The first Ctrl-C only makes interrupted() true; a second one ends the program immediately.
void watch_for_interrupt();
bool interrupted() noexcept;
// Ends the program by SIGINT, so that the shell sees an interrupt and not an exit code.
[[noreturn]] void end_interrupted();

using figure::columns_of;
using figure::fitted;
using figure::on_one_line;

std::string human_bytes(double bytes);  // "440 MB"

}  // namespace attn::cli
