// apps/cli/commands/heatmap.cc - attnscope heatmap: the weights of one head as a picture.
#include <CLI/CLI.hpp>
#include <memory>

#include "apps/cli/command.h"
#include "apps/cli/options/figure_option.h"
#include "apps/cli/options/view_option.h"
#include "apps/cli/output/json.h"

namespace attn::cli {

namespace {

constexpr std::int64_t kMostNumbers = 1024;  // in a row of JSON; attnscope weights has all

struct HeatmapCommand {
  ViewOption view;
  HeadOption head;
  FigureOption figure;
  bool json = false;

  void run(ThreadPool& pool) const;
};

Json starts_of(std::int64_t cells, std::int64_t count) {
  Json starts = Json::array();
  for (std::int64_t c = 0; c < cells; ++c) starts.push_back(insight::cell_start(c, cells, count));
  return starts;
}

Json to_json(const OpenedTables& opened, const insight::HeadId& name, const insight::Picture& picture) {
  Json json = to_json(opened, name.kind);
  json["layer"] = name.layer;
  json["head"] = name.head;
  json["weights"] = rows_of(picture.cells);
  if (!picture.reduced()) return json;
  json["reduce"] = std::string(figure::name_of(picture.reduce));
  json["rows"] = starts_of(picture.cells.rows(), picture.queries);  // where each cell begins
  json["columns"] = starts_of(picture.cells.columns(), picture.keys);
  return json;
}

void HeatmapCommand::run(ThreadPool& pool) const {
  const OpenedTables opened = view.open(pool);
  const insight::HeadId name = head.one(*opened.tables);
  const std::int64_t most = json ? kMostNumbers : figure.most_cells(figure::kHeatmapCells);
  insight::Picture picture = insight::picture(*opened.tables, name, most, figure.reduce, pool);
  if (json) print(as_line(to_json(opened, name, picture)));
  if (json && figure.file.empty()) return;
  figure::Heatmap map = figure::heatmap_of(opened.drawn(), name, std::move(picture));
  figure.dress(map);
  figure.write(std::move(map));
}

}  // namespace

void add_heatmap(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<HeatmapCommand>();
  CLI::App* command = app.add_subcommand("heatmap", "Draw the attention weights of one head");
  options->view.add_to(*command);
  options->head.add_to(*command);
  options->figure.add_to(*command);
  command->add_flag("--json", options->json, "Print the cells as one line of JSON");
  command->callback([options, &shell] { options->run(shell.pool()); });
}

}  // namespace attn::cli
