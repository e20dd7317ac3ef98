// cli/headview.cc - attnscope headview: two columns of tokens, and lines between those that attend to each other.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <stdexcept>

#include "command.h"
#include "figure_option.h"
#include "view.h"

namespace attn::cli {

namespace {

constexpr std::int64_t kMostTokens = 256;  // more lines than that nobody can follow

struct HeadviewCommand {
  ViewOption view;
  LayerOption heads;
  FigureOption figure;
  double threshold = 0.01;
  bool json = false;

  void run(ThreadPool& pool) const;
};

void HeadviewCommand::run(ThreadPool& pool) const {
  const Subject subject = view.open(pool);
  const std::vector<insight::HeadName> names = heads.chosen(*subject.specimen);
  const model::Kind kind = names.front().kind;
  const auto& queries = subject.specimen->queries(kind);
  const auto& keys = subject.specimen->keys(kind);
  if (std::max(std::ssize(queries), std::ssize(keys)) > kMostTokens) {
    throw std::runtime_error(
        fmt::format("{} x {} tokens are too many for lines (at most {}): attnscope heatmap shows them", queries.size(),
                    keys.size(), kMostTokens));
  }
  std::vector<insight::Picture> pictures = pictures_of(*subject.specimen, names, kMostTokens, figure.reduce, pool);
  if (json) print(as_line(to_json(subject, names, pictures, view)));
  if (json && figure.file.empty()) return;
  const AxisNames axes = axis_names(kind);
  figure::HeadView lines{.queries = labels_of(queries, std::ssize(queries)),
                         .keys = labels_of(keys, std::ssize(keys)),
                         .heads = {},
                         .threshold = threshold,
                         .title = subject.name + ", " + layer_name(names.front()),
                         .query_label = axes.rows,
                         .key_label = axes.columns,
                         .caption = ""};
  if (names.size() == 1) lines.title = subject.name + ", " + to_string(names.front());
  for (insight::Picture& picture : pictures) {
    lines.heads.push_back({fmt::format("head {}", names[lines.heads.size()].head), std::move(picture.cells)});
  }
  figure.dress(lines);
  figure.write(std::move(lines));
}

}  // namespace

void add_headview(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<HeadviewCommand>();
  CLI::App* command = app.add_subcommand("headview", "Heads of a layer as lines between tokens");
  options->view.add_to(*command, false);  // lines are as strong as weights: 0 to 1
  options->heads.add_to(*command);
  options->figure.add_to(*command, {.colours = false, .axes = false, .bar = false, .values = false, .reduce = false});
  command->add_option("--threshold", options->threshold, "Weights below are not drawn")
      ->check(CLI::Range(0.0, 1.0))
      ->type_name("P")
      ->capture_default_str();
  command->add_flag("--json", options->json, "The weights as one line of JSON");
  command->callback([options, &shell] { options->run(shell.pool()); });
}

}  // namespace attn::cli
