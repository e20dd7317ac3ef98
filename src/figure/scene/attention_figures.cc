#include "figure/scene/attention_figures.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/parallel_for.h"
#include "figure/scene/reduce.h"

namespace attn::figure {

namespace {

using insight::HeadId;
using insight::Kind;
using insight::Picture;

std::string title_of(const FigureTables& drawn, const std::string& what) {
  return drawn.name.empty() ? what : drawn.name + ", " + what;
}

std::string bar_label(const FigureTables& drawn) {
  return drawn.view.measure == insight::Measure::value ? "Norm of weight x value" : "Attention weight";
}

// The caption of the whole figure.
std::string figure_caption(const FigureTables& drawn, const Picture& picture) {
  std::string reduced = figure::caption_of(picture);
  if (!drawn.view.without_sinks) return reduced;
  return reduced + (reduced.empty() ? "" : " ") + "Without sinks, rows renormalised.";
}

std::string panel_name(const HeadId& head) { return "head " + std::to_string(head.head); }

}  // namespace

std::vector<Picture> pictures_of(const insight::AttentionTables& tables, const std::vector<HeadId>& heads,
                                 const Pictures& how, ThreadPool& pool) {
  std::vector<Picture> pictures(heads.size());
  base::parallel_for(std::ssize(heads), how.progress, pool, [&](std::int64_t n) {
    ThreadPool alone(1);
    const auto at = static_cast<std::size_t>(n);
    pictures[at] = insight::picture(tables, heads[at], how.most, how.reduce, alone);
  });
  return pictures;
}

Heatmap heatmap_of(const FigureTables& drawn, const HeadId& head, Picture picture) {
  const AxisNames axes = axis_names(head.kind);
  Heatmap map{.cells = {},
              .rows = labels_of(drawn.tables.queries(head.kind), picture.cells.rows()),
              .columns = labels_of(drawn.tables.keys(head.kind), picture.cells.columns()),
              .title = title_of(drawn, to_string(head)),
              .x_label = axes.columns,
              .y_label = axes.rows,
              .bar_label = bar_label(drawn),
              .caption = figure_caption(drawn, picture),
              .shade = {}};
  map.cells = std::move(picture.cells);
  return map;
}

Grid grid_of(const FigureTables& drawn, const std::vector<HeadId>& heads, std::vector<Picture> pictures) {
  const AxisNames axes = axis_names(heads.front().kind);
  Grid grid{.panels = {},
            .title = title_of(drawn, layer_name(heads.front())),
            .x_label = axes.columns,
            .y_label = axes.rows,
            .bar_label = bar_label(drawn),
            .caption = figure_caption(drawn, pictures.front()),
            .shade = {}};
  for (std::size_t h = 0; h < heads.size(); ++h) {
    Heatmap panel = heatmap_of(drawn, heads[h], std::move(pictures[h]));
    panel.title = panel_name(heads[h]);
    panel.caption.clear();
    grid.panels.push_back(std::move(panel));
  }
  return grid;
}

Overview overview_of(const FigureTables& drawn, Kind kind, std::vector<Picture> pictures) {
  const insight::AttentionStack& all = drawn.tables.stack(kind);
  Overview overview{.layers = all.layers,
                    .heads = all.heads,
                    .cells = {},
                    .title = title_of(drawn, "all heads"),
                    .bar_label = bar_label(drawn),
                    .caption = figure_caption(drawn, pictures.front()),
                    .shade = {.scale = kOverviewScale}};
  if (kind != Kind::self || drawn.tables.stacks().size() > 1)
    overview.title += " of kind " + std::string(name_of(kind));
  for (Picture& picture : pictures) overview.cells.push_back(std::move(picture.cells));
  return overview;
}

HeadView head_view_of(const FigureTables& drawn, const std::vector<HeadId>& heads, std::vector<Picture> pictures) {
  const Kind kind = heads.front().kind;
  const AxisNames axes = axis_names(kind);
  const auto& queries = drawn.tables.queries(kind);
  const auto& keys = drawn.tables.keys(kind);
  HeadView lines{.queries = labels_of(queries, std::ssize(queries)),
                 .keys = labels_of(keys, std::ssize(keys)),
                 .heads = {},
                 .title = title_of(drawn, heads.size() == 1 ? to_string(heads.front()) : layer_name(heads.front())),
                 .query_label = axes.rows,
                 .key_label = axes.columns,
                 .caption = figure_caption(drawn, pictures.front())};
  for (std::size_t h = 0; h < heads.size(); ++h)
    lines.heads.push_back({panel_name(heads[h]), std::move(pictures[h].cells)});
  return lines;
}

void check_lines(const insight::AttentionTables& tables, Kind kind) {
  const std::size_t queries = tables.queries(kind).size(), keys = tables.keys(kind).size();
  if (std::max(queries, keys) <= static_cast<std::size_t>(kHeadViewTokens)) return;
  throw std::invalid_argument(std::to_string(queries) + " x " + std::to_string(keys) +
                              " tokens are too many for a head view (at most " + std::to_string(kHeadViewTokens) +
                              "): draw a heatmap instead");
}

Heatmap difference_of(const insight::AttentionTables& less, const HeadId& head, std::int64_t most, ThreadPool& pool) {
  Heatmap map =
      heatmap_of({.tables = less, .name = ""}, head, insight::picture(less, head, most, insight::Reduce::mean, pool));
  map.title = "A - B, " + to_string(head);
  map.bar_label = "Difference of weights";
  map.shade.cmap = kDifferenceColours;
  return map;
}

std::string layers_up_to(std::int64_t layer) { return layer == 0 ? "layer 0" : "layers 0 to " + std::to_string(layer); }

Heatmap followed_of(const insight::AttentionTables& tables, const FollowedTable& found) {
  Heatmap map;
  map.cells = nn::Matrix(found.numbers.rows(), found.numbers.columns());
  std::copy_n(found.numbers.data(), map.cells.rows() * map.cells.columns(), map.cells.data());
  map.columns = labels_of(tables.keys(Kind::self), map.cells.columns());
  for (const std::int64_t token : found.upper.tokens) map.rows.push_back(map.columns[static_cast<std::size_t>(token)]);
  map.title = "Attention " + found.name + " through " + layers_up_to(found.upper.layer);
  map.x_label = "Token of the text";
  map.y_label = "Token above layer " + std::to_string(found.upper.layer);
  map.bar_label = found.measure;
  return map;
}

std::vector<std::string> labels_of(const std::vector<text::Token>& tokens, std::int64_t cells) {
  std::vector<std::string> labels;
  const std::int64_t count = std::ssize(tokens);
  for (std::int64_t c = 0; c < cells; ++c) {
    const std::int64_t first = insight::cell_start(c, cells, count);
    labels.push_back(cells < count ? std::to_string(first) : tokens[static_cast<std::size_t>(first)].text);
  }
  return labels;
}

AxisNames axis_names(Kind kind) {
  if (kind == Kind::cross) return {"Written token", "Source token"};
  return {"Query", "Key"};
}

std::string layer_name(const HeadId& head) {
  return (head.kind == Kind::self ? "" : std::string(name_of(head.kind)) + " ") + "layer " + std::to_string(head.layer);
}

std::string_view name_of(insight::Reduce reduce) noexcept {
  switch (reduce) {
    case insight::Reduce::mean:
      return "mean";
    case insight::Reduce::max:
      return "max";
    case insight::Reduce::farthest:
      return "farthest";
  }
  return "";
}

std::string caption_of(const Picture& picture) {
  if (!picture.reduced()) return "";
  return "Each cell is the " + std::string(name_of(picture.reduce)) + " of " +
         part_sizes({picture.queries, picture.keys}, picture.cells.view().shape) + " weights.";
}

}  // namespace attn::figure
