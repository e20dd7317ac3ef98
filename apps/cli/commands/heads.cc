// apps/cli/commands/heads.cc - attnscope heads: all heads of a layer side by side.
#include <CLI/CLI.hpp>
#include <memory>

#include "apps/cli/command.h"
#include "apps/cli/options/figure_option.h"
#include "apps/cli/options/view_option.h"

namespace attn::cli {

namespace {

struct HeadsCommand {
  ViewOption view;
  LayerOption heads;
  FigureOption figure;
  std::int64_t columns = 0;
  bool json = false;

  void run(ThreadPool& pool) const;
};

void HeadsCommand::run(ThreadPool& pool) const {
  const OpenedTables opened = view.open(pool);
  const std::vector<insight::HeadId> names = heads.chosen(*opened.tables);
  const std::int64_t most = json ? figure::kGridCells : figure.most_cells(figure::kGridCells);
  std::vector<insight::Picture> pictures = pictures_of(*opened.tables, names, most, figure.reduce, pool);
  if (json) print(as_line(to_json(opened, names, pictures)));
  if (json && figure.file.empty()) return;
  figure::Grid grid = figure::grid_of(opened.drawn(), names, std::move(pictures));
  grid.columns = columns;
  figure.dress(grid);
  figure.write(std::move(grid));
}

}  // namespace

void add_heads(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<HeadsCommand>();
  CLI::App* command = app.add_subcommand("heads", "Draw all heads of a layer side by side");
  options->view.add_to(*command);
  options->heads.add_to(*command);
  options->figure.add_to(*command, {.values = false});
  command
      ->add_option("--columns", options->columns, "Number of heads per row (default: 4 for 8 heads, else about square)")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  command->add_flag("--json", options->json, "Print the cells as one line of JSON");
  command->callback([options, &shell] { options->run(shell.pool()); });
}

}  // namespace attn::cli
