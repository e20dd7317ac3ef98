// apps/cli/commands/view.cc - attnscope view: the page, served on this machine or saved as one file.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
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
#include "base/heap.h"
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

// Opens the browser; does nothing without a display.
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

// The microscope that needs no server, if this program came with it: installed beside it, or built by make web-app.
std::filesystem::path app_file() {
  std::error_code none;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
  for (const char* place : {"../share/attnscope/attnscope.html", "../dist/attnscope.html"})
    if (std::filesystem::path file = program / place; std::filesystem::is_regular_file(file, none)) return file;
  return {};
}

// Longer texts get no summary in the terminal, which would delay the address; the page computes it in the background.
constexpr std::int64_t kMostTokensInTerminal = 512;
constexpr std::int64_t kTerminalCells = 40;  // per side, at most

// The suggested head and its heatmap. The page needs the same statistics; they are computed once.
std::string best_head(const server::StoredRecording& stored, const base::Progress& progress, ThreadPool& pool) {
  const server::StoredTables& shown = stored.stored_tables(false);
  const insight::HeadsReport& report = shown.summary(pool, progress).report;
  const insight::HeadId best = report.best().statistics.name;
  const Terminal terminal = Terminal::of_stdout();
  insight::Picture picture = insight::picture(shown.tables(), best, kTerminalCells, insight::Reduce::max, pool);
  figure::Heatmap map = figure::heatmap_of({shown.tables(), stored.name()}, best, std::move(picture));
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
  [[nodiscard]] OpenedTables open(ThreadPool& pool) const;
  [[nodiscard]] OpenedTables open_file(ThreadPool& pool) const;
  [[nodiscard]] server::PageFiles page() const {
    server::PageFiles files =
        page_folder.empty() ? server::PageFiles(builtin::page()) : server::PageFiles::read(page_folder);
    files.offer_app(app_file());
    return files;
  }
  void write(const OpenedTables& opened_tables, ThreadPool& pool) const;
  void serve(ThreadPool& pool) const;
};

SourceOption ViewPage::given() const {
  SourceOption whole = source;
  if (!is_file() && !whole.text.text && !whole.text.file) whole.text.text = kSampleText;
  return whole;
}

OpenedTables ViewPage::open_file(ThreadPool& pool) const {
  OpenedTables opened_tables;
  opened_tables.tables = source.open_unchecked({}, pool);
  const insight::CheckResult result = checked(*opened_tables.tables, pool);
  if (source.recording || !result.no_weight)
    source.report(result);  // a table of other numbers is refused later, in one line
  opened_tables.name = source.name_of(*opened_tables.tables);
  return opened_tables;
}

OpenedTables ViewPage::open(ThreadPool& pool) const {
  if (is_file()) return open_file(pool);
  OpenedTables opened_tables;
  SourceOption::Opened opened = given().read({}, pool);
  opened.recording.induction = insight::induction_scores(opened.reader, pool);
  opened_tables.tables = std::make_unique<insight::RecordedTables>(std::move(opened.recording));
  opened_tables.name = source.name_of(*opened_tables.tables);
  return opened_tables;
}

// All built-in models, and those of --with.
server::ModelList models_with(const std::vector<std::string>& named) {
  server::ModelList models;
  for (const base::BuiltInFolder& model : builtin::models())
    models.add(std::string(model.name), base::Folder(model), false);
  for (const std::string& name : named) models.add(name, builtin::folder_of(name), true);
  return models;
}

void ViewPage::write(const OpenedTables& opened_tables, ThreadPool& pool) const {
  const server::PageFiles files = page();
  const server::StoredRecording stored("1", opened_tables.name, opened_tables.tables);
  OutputFile out(output);
  ProgressLine line;
  const auto progress = [&](std::int64_t done, std::int64_t total) {
    if (interrupted()) throw Interrupted();
    line.count(done, total, "head");
  };
  out.write(server::offline_page(files.offline(), stored, {}, pool, progress));
  out.commit();
}

void ViewPage::serve(ThreadPool& pool) const {
  base::prefer_small_heap();
  const SourceOption asked = given();
  server::ModelList models = models_with(with);
  server::RecordRequest record_request;
  OpenedTables opened_tables;
  if (is_file()) {
    opened_tables = open_file(pool);
  } else {
    const model::Text text = asked.text_given();
    record_request = {
        .model = models.add(asked.model.chosen(), asked.model.folder(), true), .text = text.text, .pair = text.pair};
    record_request.target = text.target;
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
                         .store = {.models = models.take(), .memory = memory}});
  const std::string id = is_file() ? server.add(opened_tables.name, opened_tables.tables, until_interrupted)
                                   : server.make(record_request, until_interrupted);
  const auto stored = server.find(id);
  if (!is_file()) note_training_length(stored->provenance().facts, stored->tokens());
  if (stored->tokens() <= kMostTokensInTerminal) print(best_head(*stored, until_interrupted, pool));
  print(fmt::format("{}, {}: {}\nPress Ctrl-C to stop.\n", stored->name(), counted(stored->tokens(), "token"),
                    server.url()));
  if (!no_open) open_browser(server.url());
  while (!interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  server.stop();
  std::fflush(stdout);
  // Connections may still be open, each with its own thread: end them here, before anything they use is destroyed.
  std::_Exit(0);
}

void ViewPage::run(ThreadPool& pool) const { output.empty() ? serve(pool) : write(open(pool), pool); }

}  // namespace

void add_view(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<ViewPage>();
  CLI::App* command = app.add_subcommand("view", "Open the microscope: a page in the browser, served on this machine");
  options->source.add_to(*command, SourceOption::Takes::tables);
  auto* port = command
                   ->add_option("--port", options->port,
                                fmt::format("Port to serve on; 0: any free port (default: {}, or the next free one)",
                                            server::kDefaultPort))
                   ->check(CLI::Range(0, 65535))
                   ->type_name("P");
  command->add_option("--with", options->with, "Models that the page may use besides the built-in ones")
      ->delimiter(',')
      ->type_name("DIR|NAME,...");
  command
      ->add_option("--memory", options->memory,
                   "Memory for the page's recordings; the least recently used are dropped first")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("BYTES")
      ->default_str("1GB");
  auto* no_open = command->add_flag("--no-open", options->no_open, "Print the address without opening a browser");
  command->add_option("--output,-o", options->output, "HTML file to write instead of serving; it needs no network")
      ->type_name("FILE")
      ->excludes(port)
      ->excludes(no_open);
  command->add_option("--page", options->page_folder, "Folder with the page's own files, for developing them")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory)
      ->group("");
  command->callback([options, &shell] { options->run(shell.pool()); });
}

}  // namespace attn::cli
