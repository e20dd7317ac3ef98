// apps/cli/commands/headview.cc - attnscope headview: two columns of tokens, and lines from queries to keys.
#include <CLI/CLI.hpp>
#include <memory>

#include "apps/cli/command.h"
#include "apps/cli/options/figure_option.h"
#include "apps/cli/options/view_option.h"

namespace attn::cli {

namespace {

struct HeadviewCommand {
  ViewOption view;
  LayerOption heads;
  FigureOption figure;
  double threshold = 0.01;
  bool json = false;

  void run(ThreadPool& pool) const;
};

void HeadviewCommand::run(ThreadPool& pool) const {
  const OpenedTables opened = view.open(pool);
  const std::vector<insight::HeadId> names = heads.chosen(*opened.tables);
  figure::check_lines(*opened.tables, names.front().kind);
  std::vector<insight::Picture> pictures =
      pictures_of(*opened.tables, names, figure::kHeadViewTokens, figure.reduce, pool);
  if (json) print(as_line(to_json(opened, names, pictures)));
  if (json && figure.file.empty()) return;
  figure::HeadView lines = figure::head_view_of(opened.drawn(), names, std::move(pictures));
  lines.threshold = threshold;
  figure.dress(lines);
  figure.write(std::move(lines));
}

}  // namespace

void add_headview(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<HeadviewCommand>();
  CLI::App* command = app.add_subcommand("headview", "Draw heads of a layer as lines between tokens");
  options->view.add_to(*command, false);  // lines have the strength of weights, 0 to 1
  options->heads.add_to(*command);
  options->figure.add_to(*command, {.colours = false, .axes = false, .bar = false, .values = false, .reduce = false});
  command->add_option("--threshold", options->threshold, "Smallest weight to draw")
      ->check(CLI::Range(0.0, 1.0))
      ->type_name("P")
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print the weights as one line of JSON");
  command->callback([options, &shell] { options->run(shell.pool()); });
}

}  // namespace attn::cli
