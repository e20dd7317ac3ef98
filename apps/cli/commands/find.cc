// apps/cli/commands/find.cc - attnscope find: the heads that match a pattern.
#include "insight/statistics/find.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "apps/cli/command.h"
#include "apps/cli/options/source.h"
#include "apps/cli/output/json.h"
#include "apps/cli/output/progress.h"
#include "apps/cli/output/terminal.h"
#include "attn/error.h"
#include "figure/draw/png_read.h"
#include "insight/io/table_file.h"

namespace attn::cli {

namespace {

struct FindCommand {
  SourceOption source;
  std::string pattern;
  std::optional<std::string> kind_name;
  std::int64_t top = 10;
  bool dark = false, json = false;

  void run(ThreadPool& pool) const;

 private:
  [[nodiscard]] insight::Pattern parsed() const;
  [[nodiscard]] nn::Matrix picture() const;
};

nn::Matrix FindCommand::picture() const {
  if (!pattern.ends_with(".png")) {
    insight::TableFile file = insight::read_table(pattern);
    if (file.tables.layers * file.tables.heads > 1)
      throw Error(pattern, "holds several tables; a pattern must be a single table");
    return std::move(file.tables.numbers);
  }
  nn::Matrix light = figure::read_brightness(pattern);
  if (dark) {
    for (std::int64_t n = 0; n < light.rows() * light.columns(); ++n) light.data()[n] = 1 - light.data()[n];
  }
  return light;
}

insight::Pattern FindCommand::parsed() const {
  const std::string end = std::filesystem::path(pattern).extension().string();
  if (end == ".png" || end == ".npy" || end == ".csv" || end == ".json") return picture();
  return or_usage([&] { return insight::parse_name_or_mask(pattern); });
}

std::string to_table(const std::vector<insight::Similar>& found, std::int64_t top, const Terminal& terminal) {
  const auto rows = std::min<std::int64_t>(top, std::ssize(found));
  int name = 0;
  for (std::int64_t n = 0; n < rows; ++n)
    name = std::max(name, columns_of(to_string(found[static_cast<std::size_t>(n)].head)));
  const int bar = std::clamp(terminal.width() - name - 14, 1, 24);
  std::string out = terminal.dim("similarity") + "\n";
  for (std::int64_t n = 0; n < rows; ++n) {
    const insight::Similar& one = found[static_cast<std::size_t>(n)];
    out += fmt::format("{:>10.3f}  {}  {}\n", one.similarity, terminal.bar(one.similarity, bar), to_string(one.head));
  }
  return out;
}

void FindCommand::run(ThreadPool& pool) const {
  const insight::Pattern wanted = parsed();
  const std::unique_ptr<insight::AttentionTables> tables = source.open({}, pool);
  watch_for_interrupt();
  ProgressLine line;
  insight::FindOptions options;
  options.progress = [&](std::int64_t done, std::int64_t total) { line.count(done, total, "head"); };
  if (kind_name) options.kind = model::parse_kind(*kind_name);
  const std::vector<insight::Similar> found =
      or_usage([&] { return insight::find_heads(*tables, wanted, options, pool); });
  line.clear();
  print(json ? as_line({{"pattern", pattern}, {"heads", to_json(found, top)}})
             : to_table(found, top, Terminal::of_stdout()));
}

}  // namespace

void add_find(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<FindCommand>();
  CLI::App* command = app.add_subcommand("find", "Find heads that match a pattern, the closest first");
  command->footer(
      "The similarity to a named pattern is its share of attention; to a mask or a picture it is the mean over rows "
      "of\n"
      "sum_j min(p, pattern), where each row of the pattern sums to 1. 0: nothing in common, 1: identical.");
  command
      ->add_option(
          "pattern", options->pattern,
          fmt::format(
              "Pattern to find: a name ({}), a mask (\"causal & window(2)\"), or a small picture of the table: .png, "
              ".npy, .csv, .json",
              fmt::join(insight::pattern_names(), ", ")))
      ->required()
      ->type_name("PATTERN");
  options->source.add_to(*command, SourceOption::Takes::tables);
  command->add_option("--kind", options->kind_name, "Kind of heads to search: self, decoder or cross (default: all)")
      ->check(CLI::IsMember({"self", "cross", "decoder"}));
  at_least(1, command->add_option("--top", options->top, "Number of heads to show"))
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--dark", options->dark, "Read dark pixels of a .png as strong attention (default: bright pixels)");
  command->add_flag("--json", options->json, "Print one line of JSON");
  command->callback([options, &shell] { options->run(shell.pool()); });
}

}  // namespace attn::cli
