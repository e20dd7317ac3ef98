// apps/cli/commands/view.cc - attnscope view: the page, served on this machine or as one file.
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
#include <utility>
#include <vector>

#include "apps/cli/command.h"
#include "apps/cli/options/view_option.h"
#include "apps/cli/output/checked.h"
#include "apps/cli/output/output_file.h"
#include "apps/cli/output/progress.h"
#include "apps/cli/output/terminal.h"
#include "builtin/models.h"
#include "builtin/page.h"
#include "figure/scene/attention_figures.h"
#include "figure/scene/heads_report.h"
#include "insight/statistics/induction.h"
#include "server/http/server.h"
#include "server/routes/offline.h"

namespace attn::cli {

namespace {

constexpr const char* kSampleText = "The keys to the cabinet are on the table, and they are old.";

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

// Longer texts take longer to look over than a terminal should wait for the address; the page shows them meanwhile.
constexpr std::int64_t kMostTokensInTerminal = 512;
constexpr std::int64_t kTerminalCells = 40;  // a side, at most

// The head worth a look and its picture. The page asks for the same survey, which is made once.
std::string best_head(const server::Exhibit& exhibit, const insight::Progress& progress, ThreadPool& pool) {
  const server::Exposure& shown = exhibit.exposure(false);
  const insight::HeadsReport& report = shown.survey(pool, progress).report;
  const insight::HeadName best = report.best().statistics.name;
  const Terminal terminal = Terminal::of_stdout();
  insight::Picture picture = insight::picture(shown.specimen(), best, kTerminalCells, insight::Reduce::max, pool);
  figure::Heatmap map = figure::heatmap_of({shown.specimen(), exhibit.name()}, best, std::move(picture));
  map.title.clear();  // the sentence above it says which head it is
  return figure::first_line(report, terminal) + "\n" + figure::draw(std::move(map), terminal.screen()) + "\n";
}

struct ViewPage {
  SourceOption source;
  std::vector<std::string> with;
  std::optional<int> port;
  std::int64_t memory = server::kDefaultMemory;
  std::string output, page_folder;
  bool no_open = false;

  void run(ThreadPool& pool) const;

 private:
  [[nodiscard]] bool is_file() const { return source.table || source.recording; }
  [[nodiscard]] SourceOption given() const;
  [[nodiscard]] Subject open(ThreadPool& pool) const;
  [[nodiscard]] Subject open_file(ThreadPool& pool) const;
  [[nodiscard]] server::PageFiles page() const {
    return page_folder.empty() ? server::PageFiles(builtin::page()) : server::PageFiles::read(page_folder);
  }
  void write(Subject subject, ThreadPool& pool) const;
  void serve(ThreadPool& pool) const;
};

SourceOption ViewPage::given() const {
  SourceOption whole = source;
  if (!is_file() && !whole.text.text && !whole.text.file) whole.text.text = kSampleText;
  return whole;
}

Subject ViewPage::open_file(ThreadPool& pool) const {
  Subject subject;
  subject.specimen = source.open_unchecked({}, pool);
  const insight::CheckResult result = checked(*subject.specimen, pool);
  if (source.recording || !result.no_weight) source.judge(result);  // a table of other numbers is refused, in one line
  subject.name = source.name_of(*subject.specimen);
  return subject;
}

Subject ViewPage::open(ThreadPool& pool) const {
  if (is_file()) return open_file(pool);
  Subject subject;
  SourceOption::Opened opened = given().read({}, pool);
  opened.reading.induction = insight::induction_scores(opened.reader, pool);
  subject.specimen = std::make_unique<insight::RecordedSpecimen>(std::move(opened.reading));
  subject.name = source.name_of(*subject.specimen);
  return subject;
}

// All that are built in, and what the user named.
server::Shelf shelf_with(const std::vector<std::string>& named) {
  server::Shelf shelf;
  for (const text::BuiltInFolder& model : builtin::models())
    shelf.add(std::string(model.name), text::Folder(model), false);
  for (const std::string& name : named) shelf.add(name, builtin::folder_of(name), true);
  return shelf;
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
  out.write(server::offline_page(files.offline(), exhibit, {}, pool, progress));
  out.commit();
}

void ViewPage::serve(ThreadPool& pool) const {
  const SourceOption asked = given();
  server::Shelf shelf = shelf_with(with);
  server::Recipe recipe;
  Subject subject;
  if (is_file()) {
    subject = open_file(pool);
  } else {
    const model::Text text = asked.text_given();
    recipe = {
        .model = shelf.add(asked.model.chosen(), asked.model.folder(), true), .text = text.text, .pair = text.pair};
    recipe.target = text.target;
  }
  // The pool is the program's own and outlives all requests.
  auto shared = std::shared_ptr<ThreadPool>(std::shared_ptr<void>(), &pool);
  watch_for_interrupt();
  const auto until_interrupted = [](std::int64_t, std::int64_t) {
    if (interrupted()) throw Interrupted();
  };
  server::Server server({.page = page(),
                         .pool = [shared] { return shared; },
                         .port = port,
                         .stock = {.models = shelf.take(), .memory = memory}});
  const std::string id = is_file() ? server.add(subject.name, std::move(subject.specimen), until_interrupted)
                                   : server.make(recipe, until_interrupted);
  const auto exhibit = server.find(id);
  if (!is_file()) note_training_length(exhibit->provenance().facts, exhibit->tokens());
  if (exhibit->tokens() <= kMostTokensInTerminal) print(best_head(*exhibit, until_interrupted, pool));
  print(
      fmt::format("{}, {}: {}\nCtrl-C ends it.\n", exhibit->name(), counted(exhibit->tokens(), "token"), server.url()));
  if (!no_open) open_browser(server.url());
  while (!interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  server.stop();
  std::fflush(stdout);
  // Connections may still be open, with a thread each: they end here, before anything that they use does.
  std::_Exit(0);
}

void ViewPage::run(ThreadPool& pool) const { output.empty() ? serve(pool) : write(open(pool), pool); }

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
  command->add_option("--with", options->with, "Further models that the page may use, besides those that are built in")
      ->delimiter(',')
      ->type_name("DIR|NAME,...");
  command->add_option("--memory", options->memory, "For what the page's texts take; the least used go first")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("BYTES")
      ->default_str("1GB");
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
