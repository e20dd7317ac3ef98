// apps/cli/commands/overview.cc - attnscope overview: every head of a model as a thumbnail.
#include <CLI/CLI.hpp>
#include <memory>

#include "apps/cli/command.h"
#include "apps/cli/options/figure_option.h"
#include "apps/cli/options/view_option.h"

namespace attn::cli {

namespace {

struct OverviewCommand {
  ViewOption view;
  HeadOption kind;
  FigureOption figure;
  bool json = false;

  OverviewCommand() { figure.shade.scale = figure::kOverviewScale; }
  void run(ThreadPool& pool) const;
};

void OverviewCommand::run(ThreadPool& pool) const {
  const OpenedTables opened = view.open(pool);
  const std::vector<insight::HeadId> names = kind.chosen(*opened.tables);
  std::vector<insight::Picture> pictures =
      pictures_of(*opened.tables, names, figure::kOverviewCells, figure.reduce, pool);
  if (json) print(as_line(to_json(opened, names, pictures)));
  if (json && figure.file.empty()) return;
  figure::Overview overview = figure::overview_of(opened.drawn(), kind.kind(), std::move(pictures));
  figure.dress(overview);
  figure.write(std::move(overview));
}

}  // namespace

void add_overview(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<OverviewCommand>();
  CLI::App* command = app.add_subcommand("overview", "Draw every head of every layer as a thumbnail");
  options->view.add_to(*command);
  options->kind.add_kind_to(*command);
  options->figure.add_to(*command, {.axes = false, .values = false});
  command->add_flag("--json", options->json, "Print the cells as one line of JSON");
  command->callback([options, &shell] { options->run(shell.pool()); });
}

}  // namespace attn::cli
