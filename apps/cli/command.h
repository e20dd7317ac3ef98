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

// The command line asks for something that cannot be: exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What the command line asked for and cannot be is wrong usage.
template <typename Call>
decltype(auto) or_usage(const Call& call) {
  try {
    return call();
  } catch (const std::invalid_argument& wrong) {
    throw UsageError(wrong.what());
  }
}

class World;  // ranks.h

// Started when it is first asked for: commands that only print need no threads.
class Shell {
 public:
  Shell();
  ~Shell();

  int threads = 0;  // 0: default_threads(), which ranks on one machine share

  ThreadPool& pool();
  // This process and those that were launched with it. Commands that know of them ask for them first of all.
  Ranks& ranks();

  // Runs the whole program: what it throws becomes a line and an exit code, said once however many processes there are.
  int guard(const std::function<int()>& program);

 private:
  int guarded(const std::function<int()>& program);
  int fail(const std::string& what, int code);

  std::unique_ptr<World> world_;
  std::unique_ptr<ThreadPool> pool_;
};

// A line on standard error; gives the code.
int say_failure(const std::string& what, int code);

// Each adds one subcommand; its work is done when the command line has been parsed.
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
// All of these. Where several processes were launched, those that cannot share their work say so.
void add_commands(CLI::App& app, Shell& shell);

// --model: the name of a built-in model, a folder in the Hugging Face layout, or the name of a model in the hub's
// cache. A bare name that is built in means that model, and ./NAME the folder.
struct ModelOption {
  std::string name;                     // empty: none was given
  std::string otherwise = "tiny-bert";  // the built-in model that is used then, if this program has it

  void add_to(CLI::App& command);
  // Whether a model was named, or there is a default.
  [[nodiscard]] bool known() const;
  // The model's name as it was given, or the default's. Throws UsageError where there is neither.
  [[nodiscard]] const std::string& chosen() const;
  // Throws UsageError and attn::Error. Says on a terminal's standard error which model it is that was not named.
  [[nodiscard]] base::Folder folder() const;
};

// --text T (or another name), or --file F ("-": standard input).
struct TextOption {
  std::optional<std::string> text, file;
  std::string name = "--text";

  void add_to(CLI::App& command, const std::string& what, const std::string& names = "--text,-t");
  [[nodiscard]] std::string read() const;  // throws attn::Error, UsageError
};

// The option takes whole numbers from `least` on.
CLI::Option* at_least(std::int64_t least, CLI::Option* option);

// A line on standard error where a text is longer than those that the model was trained on.
void note_training_length(const model::Facts& facts, std::int64_t tokens);

// To standard output; throws std::runtime_error where it cannot be written.
void print(std::string_view text);

// Thrown where work is given up because of Ctrl-C, so that what was begun is cleared away.
struct Interrupted {
  std::string words;  // a line to say; may be empty
};

// The first Ctrl-C only makes interrupted() true; a second one ends the program at once.
void watch_for_interrupt();
bool interrupted() noexcept;
// Ends the program as an interrupt does, so that the shell knows.
[[noreturn]] void end_interrupted();

using figure::columns_of;
using figure::fitted;
using figure::on_one_line;

std::string human_bytes(double bytes);  // "440 MB"

}  // namespace attn::cli
