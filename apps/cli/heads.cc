// cli/heads.cc - attnscope heads: all heads of a layer beside each other.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "command.h"
#include "figure_option.h"
#include "view.h"

namespace attn::cli {

namespace {

constexpr std::int64_t kMostCells = 256;  // a head, in a file

struct HeadsCommand {
  ViewOption view;
  LayerOption heads;
  FigureOption figure;
  std::int64_t columns = 0;
  bool json = false;

  void run(ThreadPool& pool) const;
};

void HeadsCommand::run(ThreadPool& pool) const {
  const Subject subject = view.open(pool);
  const std::vector<insight::HeadName> names = heads.chosen(*subject.specimen);
  const std::int64_t most = json ? kMostCells : figure.most_cells(kMostCells);
  std::vector<insight::Picture> pictures = pictures_of(*subject.specimen, names, most, figure.reduce, pool);
  if (json) print(as_line(to_json(subject, names, pictures, view)));
  if (json && figure.file.empty()) return;
  const model::Kind kind = names.front().kind;
  const AxisNames axes = axis_names(kind);
  figure::Grid grid{.panels = {},
                    .columns = columns,
                    .title = subject.name + ", " + layer_name(names.front()),
                    .x_label = axes.columns,
                    .y_label = axes.rows,
                    .bar_label = view.bar_label(),
                    .caption = caption_of(pictures.front()),
                    .shade = {}};
  for (std::size_t h = 0; h < names.size(); ++h) {
    figure::Heatmap panel{.cells = {},
                          .rows = labels_of(subject.specimen->queries(kind), pictures[h].cells.rows()),
                          .columns = labels_of(subject.specimen->keys(kind), pictures[h].cells.columns()),
                          .title = fmt::format("head {}", names[h].head),
                          .caption = "",
                          .shade = {}};
    panel.cells = std::move(pictures[h].cells);
    grid.panels.push_back(std::move(panel));
  }
  figure.dress(grid);
  figure.write(std::move(grid));
}

}  // namespace

void add_heads(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<HeadsCommand>();
  CLI::App* command = app.add_subcommand("heads", "All heads of a layer as pictures beside each other");
  options->view.add_to(*command);
  options->heads.add_to(*command);
  options->figure.add_to(*command, {.values = false});
  command->add_option("--columns", options->columns, "Pictures beside each other (default: 4 for 8, else about square)")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  command->add_flag("--json", options->json, "The cells as one line of JSON");
  command->callback([options, &shell] { options->run(shell.pool()); });
}

}  // namespace attn::cli
