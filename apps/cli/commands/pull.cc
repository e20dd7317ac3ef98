// apps/cli/commands/pull.cc - attnscope pull: download a model from the hub into the cache that the hub's tools use.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "apps/cli/command.h"
#include "apps/cli/output/json.h"
#include "apps/cli/output/progress.h"
#include "builtin/models.h"
#include "model/hub/hub.h"

namespace attn::cli {

namespace {

struct PullCommand {
  std::string name;
  std::string revision = "main";
  bool json = false;

  void run() const;
};

// Progress line: bytes and speed.
class PullLine {
 public:
  void show(const model::Progress& progress) {
    if (before_ < 0) before_ = progress.bytes;  // downloaded by an earlier pull
    if (progress.total == 0 || !line_.due()) return;
    const auto bytes = static_cast<double>(progress.bytes), total = static_cast<double>(progress.total);
    const double speed = (bytes - static_cast<double>(before_)) / std::max(line_.seconds(), 1e-3);
    line_.show(bytes / total, fmt::format("{} of {}  {}/s  {}", human_bytes(bytes), human_bytes(total),
                                          human_bytes(speed), progress.file));
  }
  void clear() { line_.clear(); }

 private:
  ProgressLine line_;
  std::int64_t before_ = -1;
};

void PullCommand::run() const {
  if (builtin::find_model(name) != nullptr)
    throw UsageError(name + " is built in: nothing to download; use it with --model " + name);
  watch_for_interrupt();
  PullLine bar;
  const auto on_progress = [&](const model::Progress& progress) {
    bar.show(progress);
    return !interrupted();
  };
  std::filesystem::path folder;
  try {
    folder = model::pull({.name = name, .revision = revision, .on_progress = on_progress},
                         model::HubSettings::from_environment());
  } catch (...) {
    bar.clear();
    if (!interrupted()) throw;
    std::fputs("attnscope: stopped; rerun the command to resume\n", stderr);
    throw Interrupted();
  }
  bar.clear();
  print(json ? as_line({{"name", name}, {"folder", folder.string()}}) : folder.string() + "\n");
}

}  // namespace

void add_pull(CLI::App& app, Shell& /*shell*/) {
  auto options = std::make_shared<PullCommand>();
  CLI::App* command = app.add_subcommand("pull", "Download a model from the Hugging Face hub");
  command->add_option("name", options->name, "Model to download: owner/name, or an old name such as bert-base-uncased")
      ->required()
      ->type_name("NAME");
  command->add_option("--revision", options->revision, "Branch, tag or commit to download")
      ->type_name("REV")
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print one line of JSON");
  command->footer(
      "Honours HF_ENDPOINT, HF_HOME, HF_HUB_CACHE, HF_TOKEN and HF_HUB_OFFLINE, as the hub's own tools do.");
  command->callback([options] { options->run(); });
}

}  // namespace attn::cli
