// cli/overview.cc - attnscope overview: every head of a model as a thumbnail.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "command.h"
#include "figure/shade.h"
#include "figure_option.h"
#include "view.h"

namespace attn::cli {

namespace {

constexpr std::int64_t kCells = 64;  // a thumbnail's side

struct OverviewCommand {
  ViewOption view;
  HeadOption kind;
  FigureOption figure;
  bool json = false;

  // Most weights are small: on a linear scale thumbnails would be black.
  OverviewCommand() { figure.shade.scale = figure::Scale::square_root; }
  void run(ThreadPool& pool) const;
};

void OverviewCommand::run(ThreadPool& pool) const {
  const Subject subject = view.open(pool);
  const std::vector<insight::HeadName> names = kind.chosen(*subject.specimen);
  const insight::Stack& all = subject.specimen->stack(kind.kind());
  std::vector<insight::Picture> pictures = pictures_of(*subject.specimen, names, kCells, figure.reduce, pool);
  if (json) print(as_line(to_json(subject, names, pictures, view)));
  if (json && figure.file.empty()) return;
  figure::Overview overview{.layers = all.layers,
                            .heads = all.heads,
                            .cells = {},
                            .title = subject.name + ", all heads",
                            .bar_label = view.bar_label(),
                            .caption = caption_of(pictures.front()),
                            .shade = {}};
  if (all.kind != model::Kind::self) overview.title += fmt::format(" of kind {}", name_of(all.kind));
  for (insight::Picture& picture : pictures) overview.cells.push_back(std::move(picture.cells));
  figure.dress(overview);
  figure.write(std::move(overview));
}

}  // namespace

void add_overview(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<OverviewCommand>();
  CLI::App* command = app.add_subcommand("overview", "Every head of every layer as a thumbnail");
  options->view.add_to(*command);
  options->kind.add_kind_to(*command);
  options->figure.add_to(*command, {.axes = false, .values = false});
  command->add_flag("--json", options->json, "The cells as one line of JSON");
  command->callback([options, &shell] { options->run(shell.pool()); });
}

}  // namespace attn::cli
