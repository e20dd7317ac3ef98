// cli/pull.cc - attnscope pull: a model from the hub, into the cache that its own tools use.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>

#include "command.h"
#include "json.h"
#include "model/hub.h"
#include "terminal.h"

namespace attn::cli {

namespace {

struct Pull {
  std::string name;
  std::string revision = "main";
  bool json = false;

  void run() const;
};

// One line on standard error, drawn again at most ten times a second; nothing where that is not a terminal.
class ProgressBar {
 public:
  ~ProgressBar() { clear(); }

  void show(const model::Progress& progress) {
    const auto now = Clock::now();
    if (!visible_ || progress.total == 0 || now - drawn_ < std::chrono::milliseconds(100)) return;
    if (drawn_ == Clock::time_point{}) before_ = progress.bytes;  // what an earlier pull had brought
    drawn_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const double speed = seconds > 0 ? static_cast<double>(progress.bytes - before_) / seconds : 0;
    const double share =
        progress.total > 0 ? static_cast<double>(progress.bytes) / static_cast<double>(progress.total) : 0;
    const std::string line = fmt::format(
        "{} {:>3.0f}%  {} of {}  {}/s  {}", bar(share), share * 100, human_bytes(static_cast<double>(progress.bytes)),
        human_bytes(static_cast<double>(progress.total)), human_bytes(speed), progress.file);
    std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
    std::fflush(stderr);
  }

  void clear() {
    if (visible_ && drawn_ != Clock::time_point{}) std::fputs("\r\x1b[K", stderr);
    drawn_ = {};
  }

 private:
  using Clock = std::chrono::steady_clock;

  static std::string bar(double share) {
    constexpr int kWidth = 24;
    const int full = static_cast<int>(share * kWidth);
    return "[" + repeat("#", full) + repeat(".", kWidth - full) + "]";
  }

  bool visible_ = isatty(STDERR_FILENO) != 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point drawn_{};
  std::int64_t before_ = 0;
};

void Pull::run() const {
  watch_for_interrupt();
  ProgressBar bar;
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
    std::fputs("attnscope: stopped; the same command goes on from here\n", stderr);
    throw Interrupted();
  }
  bar.clear();
  print(json ? as_line({{"name", name}, {"folder", folder.string()}}) : folder.string() + "\n");
}

}  // namespace

void add_pull(CLI::App& app, Shell& /*shell*/) {
  auto options = std::make_shared<Pull>();
  CLI::App* command = app.add_subcommand("pull", "Fetch a model from the Hugging Face hub");
  command->add_option("name", options->name, "owner/name, or an old name such as bert-base-uncased")
      ->required()
      ->type_name("NAME");
  command->add_option("--revision", options->revision, "Branch, tag or commit")
      ->type_name("REV")
      ->capture_default_str();
  command->add_flag("--json", options->json, "One line of JSON");
  command->footer("Reads HF_ENDPOINT, HF_HOME, HF_HUB_CACHE, HF_TOKEN and HF_HUB_OFFLINE as the hub's own tools do.");
  command->callback([options] { options->run(); });
}

}  // namespace attn::cli
