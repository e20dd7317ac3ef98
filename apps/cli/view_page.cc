// cli/view_page.cc - attnscope view: the page, served on this machine or as one file.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "builtin/page.h"
#include "checked.h"
#include "command.h"
#include "insight/induction.h"
#include "progress.h"
#include "server/offline.h"
#include "server/server.h"
#include "table_file.h"
#include "terminal.h"
#include "view.h"

namespace attn::cli {

namespace {

constexpr const char* kText = "The keys to the cabinet are on the table, and they are old.";

// Whoever has no display gets the address alone.
void open_browser(const std::string& url) {
  const auto there = [](const char* name) { return std::getenv(name) != nullptr; };
  if (!there("DISPLAY") && !there("WAYLAND_DISPLAY") && !there("BROWSER")) return;
  std::string program = "xdg-open", address = url;
  char* arguments[] = {program.data(), address.data(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&files, stream, "/dev/null", O_RDWR, 0);
  pid_t started = 0;
  posix_spawnp(&started, program.c_str(), &files, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
}

struct ViewPage {
  SourceOption source;
  std::optional<int> port;
  std::string output, page_folder;
  bool no_open = false;

  void run(ThreadPool& pool) const;

 private:
  [[nodiscard]] Subject open(ThreadPool& pool) const;
  [[nodiscard]] server::PageFiles page() const {
    return page_folder.empty() ? server::PageFiles(builtin::page()) : server::PageFiles::read(page_folder);
  }
  void write(Subject subject, ThreadPool& pool) const;
  void serve(Subject subject, ThreadPool& pool) const;
};

Subject ViewPage::open(ThreadPool& pool) const {
  SourceOption given = source;
  if (!given.table && !given.recording && !given.text.text && !given.text.file) given.text.text = kText;
  Subject subject;
  if (given.table || given.recording) {
    subject.specimen = given.open_unchecked({}, pool);
    const insight::CheckResult result = checked(*subject.specimen, pool);
    if (given.recording || !result.no_weight) given.judge(result);  // a table of other numbers is refused, in one line
  } else {
    SourceOption::Opened opened = given.read({}, pool);
    opened.reading.induction = insight::induction_scores(opened.reader, pool);
    subject.specimen = std::make_unique<insight::RecordedSpecimen>(std::move(opened.reading));
  }
  subject.name = given.name_of(*subject.specimen);
  return subject;
}

void ViewPage::write(Subject subject, ThreadPool& pool) const {
  const server::PageFiles files = page();
  const server::Exhibit exhibit("1", subject.name, std::move(subject.specimen));
  OutputFile out(output);
  ProgressLine line;
  const auto progress = [&](std::int64_t done, std::int64_t total) {
    if (interrupted()) throw Interrupted();
    line.count(done, total, "head");
  };
  out.write(server::offline_page(files.offline(), exhibit, "", pool, progress));
  out.commit();
}

void ViewPage::serve(Subject subject, ThreadPool& pool) const {
  // The pool is the program's own and outlives all requests.
  auto shared = std::shared_ptr<ThreadPool>(std::shared_ptr<void>(), &pool);
  watch_for_interrupt();
  server::Server server({.page = page(), .pool = [shared] { return shared; }, .port = port});
  const std::int64_t tokens = subject.specimen->stacks().front().queries;
  const auto until_interrupted = [](std::int64_t, std::int64_t) {
    if (interrupted()) throw Interrupted();
  };
  server.add(subject.name, std::shared_ptr<const insight::Specimen>(std::move(subject.specimen)), until_interrupted);
  print(fmt::format("{}, {}: {}\nCtrl-C ends it.\n", subject.name, counted(tokens, "token"), server.url()));
  if (!no_open) open_browser(server.url());
  while (!interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  server.stop();
  std::fflush(stdout);
  // Connections may still be open, with a thread each: they end here, before anything that they use does.
  std::_Exit(0);
}

void ViewPage::run(ThreadPool& pool) const {
  Subject subject = open(pool);
  output.empty() ? serve(std::move(subject), pool) : write(std::move(subject), pool);
}

}  // namespace

void add_view(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<ViewPage>();
  CLI::App* command = app.add_subcommand("view", "The microscope: a page in the browser, served on this machine");
  options->source.add_to(*command, SourceOption::Takes::tables);
  auto* port = command
                   ->add_option("--port", options->port,
                                fmt::format("Where it is served; 0: anywhere (default: {}, or the next that is free)",
                                            server::kDefaultPort))
                   ->check(CLI::Range(0, 65535))
                   ->type_name("P");
  auto* no_open = command->add_flag("--no-open", options->no_open, "Only print the address");
  command->add_option("--output,-o", options->output, "One HTML file that needs no network, instead of a server")
      ->type_name("FILE")
      ->excludes(port)
      ->excludes(no_open);
  command->add_option("--page", options->page_folder, "The page's own files, while they are worked on")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory)
      ->group("");
  command->callback([options, &shell] { options->run(shell.pool()); });
}

}  // namespace attn::cli
