// apps/cli/main.cc - the program attnscope: one file per subcommand, in commands/.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>

#include "apps/cli/command.h"
#include "figure/layout/memory.h"
#include "model/files/mapped_files.h"
#include "text/tokenizer/no_memory.h"

namespace {

using attn::cli::say_failure;

void describe(CLI::App& app, attn::cli::Shell& shell) {
  app.set_version_flag("--version", "attnscope " ATTNSCOPE_VERSION);
  app.add_option("--threads", shell.threads, "Number of threads (default: ATTNSCOPE_THREADS, else all available cores)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  app.fallthrough();
  app.require_subcommand(0, 1);
  app.footer("Layers and heads count from 0. Output has no colours in a pipe or when NO_COLOR is set.");
  attn::cli::add_commands(app, shell);
}

int run(int argc, char** argv, attn::cli::Shell& shell) {
  CLI::App app("attnscope - fast exact attention, and a microscope to see it", "attnscope");
  describe(app, shell);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      app.exit(error);
      return std::cout.flush() && std::fflush(stdout) == 0 ? 0 : say_failure("the output could not be written", 1);
    }
    const auto& chosen = app.get_subcommands();
    const std::string command = chosen.empty() ? "" : chosen[0]->get_name() + " ";
    std::string what = error.what();
    constexpr std::string_view kNoNumber = "Could not convert: ";
    if (what.starts_with(kNoNumber)) what = "not a number: " + what.substr(kNoNumber.size());
    throw attn::cli::UsageError(what + "; see attnscope " + command + "--help");
  }
  if (app.get_subcommands().empty()) attn::cli::print(app.help());
  return 0;
}

// Called by libraries that would abort: std::bad_alloc does not reach them.
void end_without_memory() {
  constexpr std::string_view kSaid = "attnscope: not enough memory\n";
  static_cast<void>(::write(STDERR_FILENO, kSaid.data(), kSaid.size()) < 0);
  ::_exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on the size of files (ulimit -f) becomes an error like a full disk
  attn::model::explain_truncated_files();
  attn::text::on_no_memory(end_without_memory);
  attn::figure::on_no_memory(end_without_memory);
  attn::cli::Shell shell;
  return shell.guard([&] { return run(argc, argv, shell); });
}
