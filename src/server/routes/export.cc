// server/routes/export.cc - files of a recording: pictures, tables, the page as one file, the recording itself.
#include "server/routes/export.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "figure/scene/attention_figures.h"
#include "insight/io/table_text.h"
#include "insight/paths/rollout.h"
#include "model/recording/recording_file.h"
#include "server/routes/offline.h"
#include "server/store/viewed_head.h"

namespace attn::server {

namespace {

using insight::HeadId;

// The end of a picture's file name: "-value", "-without-sinks", "-words".
std::string suffix_of(const insight::ViewOptions& view) {
  std::string key = view.key();
  std::ranges::replace(key, '/', '-');
  return key == "raw" ? "" : "-" + (key.starts_with("raw-") ? key.substr(4) : key);
}

// ---- pictures ----

// What to draw, and how.
struct ExportDrawing {
  RecordingStore& store;
  const RoutedRequest& request;
  insight::ViewOptions view;
  Kind kind;
  std::shared_ptr<const insight::AttentionTables> tables;

  [[nodiscard]] figure::FigureTables drawn() const { return {*tables, request.stored->name(), view}; }
  [[nodiscard]] std::vector<insight::Picture> pictures(const std::vector<HeadId>& heads, std::int64_t most) const {
    return figure::pictures_of(*tables, heads, {.most = most, .progress = request.progress()}, *store.pool());
  }
  [[nodiscard]] HeadId head() const {
    const HeadId head{kind, request.number("layer"), request.number("head")};
    tables->check(head);
    return head;
  }
  // The heads of heads=0,3; without it, all heads of the layer.
  [[nodiscard]] std::vector<HeadId> heads() const {
    std::vector<HeadId> heads;
    const std::int64_t layer = request.number("layer");
    for (const std::int64_t head : request.numbers("heads")) heads.push_back({kind, layer, head});
    const std::int64_t all = tables->stack(kind).heads;
    for (std::int64_t head = 0; !request.text("heads") && head < all; ++head) heads.push_back({kind, layer, head});
    for (const HeadId& head : heads) tables->check(head);
    return heads;
  }
};

struct ExportedFigure {
  figure::Figure figure;
  std::string name;  // of the file, without its extension
};

std::string layer_in_name(const ExportDrawing& drawing) {
  const std::string kind = drawing.kind == Kind::self ? "" : "-" + std::string(model::name_of(drawing.kind));
  return kind + "-layer" + std::to_string(drawing.request.number("layer"));
}

// Sets the query's colour map in place of the figure's own.
template <typename F>
F coloured(F figure, const RoutedRequest& request) {
  figure.shade.cmap = request.text("map").value_or(figure.shade.cmap);
  figure::colour_map(figure.shade.cmap);
  return figure;
}

ExportedFigure draw_rollout(const ExportDrawing& drawing) {
  const std::int64_t layer = drawing.request.number("layer");
  insight::UpperTokens upper{layer, {}};
  const insight::AttentionStack& all = drawing.tables->stack(Kind::self);
  for (std::int64_t i = 0; i < all.queries; ++i) upper.tokens.push_back(i);
  const nn::Matrix numbers = drawing.tables->weights({}, *drawing.store.pool());
  return {coloured(figure::followed_of(*drawing.tables, {upper, numbers, "rollout", figure::kRolloutMeasure}),
                   drawing.request),
          layer_in_name(drawing)};
}

ExportedFigure draw_heatmap(const ExportDrawing& drawing) {
  if (drawing.view.measure == insight::Measure::rollout) return draw_rollout(drawing);
  const HeadId head = drawing.head();
  auto pictures = drawing.pictures({head}, figure::kHeatmapCells);
  return {coloured(figure::heatmap_of(drawing.drawn(), head, std::move(pictures.front())), drawing.request),
          layer_in_name(drawing) + "-head" + std::to_string(head.head)};
}

ExportedFigure draw_heads(const ExportDrawing& drawing) {
  const std::vector<HeadId> heads = drawing.heads();
  return {
      coloured(figure::grid_of(drawing.drawn(), heads, drawing.pictures(heads, figure::kGridCells)), drawing.request),
      layer_in_name(drawing)};
}

ExportedFigure draw_headview(const ExportDrawing& drawing) {
  const std::vector<HeadId> heads = drawing.heads();
  figure::check_lines(*drawing.tables, drawing.kind);
  figure::HeadView lines =
      figure::head_view_of(drawing.drawn(), heads, drawing.pictures(heads, figure::kHeadViewTokens));
  lines.threshold = drawing.request.real("threshold", lines.threshold);
  if (lines.threshold < 0 || lines.threshold > 1) throw std::invalid_argument("threshold must lie between 0 and 1");
  return {std::move(lines),
          layer_in_name(drawing) + (heads.size() == 1 ? "-head" + std::to_string(heads[0].head) : "") + "-lines"};
}

ExportedFigure draw_overview(const ExportDrawing& drawing) {
  std::vector<HeadId> heads = drawing.tables->heads();
  std::erase_if(heads, [&](const HeadId& head) { return head.kind != drawing.kind; });
  const std::string kind = drawing.kind == Kind::self ? "" : "-" + std::string(model::name_of(drawing.kind));
  return {coloured(figure::overview_of(drawing.drawn(), drawing.kind, drawing.pictures(heads, figure::kOverviewCells)),
                   drawing.request),
          kind + "-overview"};
}

struct ExportedView {
  std::string_view name;
  ExportedFigure (*draw)(const ExportDrawing&);
  std::string_view measures;
  bool of_layer = true;
};
// headview takes raw weights only: the strength of a line is a weight between 0 and 1.
constexpr std::array kViews = {
    ExportedView{"heatmap", &draw_heatmap, "raw, value or rollout"}, ExportedView{"heads", &draw_heads, "raw or value"},
    ExportedView{"headview", &draw_headview, "raw"}, ExportedView{"overview", &draw_overview, "raw or value", false}};

const ExportedView& view_of(const RoutedRequest& request) {
  const std::string given = request.text("view").value_or("heatmap");
  const auto* const found = std::ranges::find(kViews, given, &ExportedView::name);
  if (found == kViews.end())
    throw std::invalid_argument("view must be heatmap, heads, headview or overview, not '" + given + "'");
  return *found;
}

}  // namespace

std::string in_file_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
    if (plain && static_cast<unsigned char>(c) < 0x80U)
      name += c;
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  while (!name.empty() && (name.back() == '-' || name.back() == '.')) name.pop_back();
  name.erase(0, std::min(name.find_first_not_of(".-"), name.size()));
  return name.empty() ? "attention" : name;
}

Response drawn(const figure::Figure& figure, const std::string& name, const RoutedRequest& request) {
  const std::string format = request.text("format").value_or("png");
  if (format != "png" && format != "svg")
    throw std::invalid_argument("format must be png or svg, not '" + format + "'");
  constexpr double kLeast = 20, kMost = 600;
  const double dpi = request.real("dpi", figure::Output().dpi);
  if (dpi < kLeast || dpi > kMost) throw std::invalid_argument("dpi must lie between 20 and 600");
  const std::string file = name + "." + format;
  return download(format == "png" ? "image/png" : "image/svg+xml", file,
                  shared(figure::draw(figure, figure::Output{figure::format_of(file), dpi})));
}

Response figure(RecordingStore& store, const RoutedRequest& request) {
  request.allow({"words", "view", "format", "kind", "layer", "head", "heads", "threshold", "measure", "without_sinks",
                 "map", "dpi"});
  const ExportedView& view = view_of(request);
  ExportDrawing drawing{store, request, view_options(request), request.kind(), nullptr};
  const std::int64_t layer = view.of_layer ? request.number("layer") : 0;
  insight::need_index("layer", layer, request.tables().stack(drawing.kind).layers);
  if (view.measures.find(name_of(drawing.view.measure)) == std::string_view::npos)
    throw std::invalid_argument("measure must be " + std::string(view.measures) +
                                " for view=" + std::string(view.name));
  drawing.tables = viewed_tables(store, request, drawing.view, layer);
  const ExportedFigure done = view.draw(drawing);
  return drawn(done.figure, in_file_name(request.stored->name()) + done.name + suffix_of(drawing.view), request);
}

// ---- tables ----

Response table(RecordingStore& store, const RoutedRequest& request) {
  request.allow({"words", "kind", "layer", "head", "format", "measure", "without_sinks"});
  const std::string format = request.text("format").value_or("csv");
  if (format != "csv" && format != "npy")
    throw std::invalid_argument("format must be csv or npy, not '" + format + "'");
  const insight::ViewOptions view = view_options(request);
  const HeadId named = request.head();
  const ViewedHead viewed = viewed_head(store, request);
  const std::string kind = named.kind == Kind::self ? "" : "-" + std::string(model::name_of(named.kind));
  const std::string head = view.measure == insight::Measure::rollout ? "" : "-head" + std::to_string(named.head);
  const std::string file = in_file_name(request.stored->name()) + kind + "-layer" + std::to_string(named.layer) + head +
                           suffix_of(view) + "." + format;
  // Not text/csv: httplib compresses streams of text with brotli at its slowest level if the browser accepts it, which
  // takes minutes for 30 MB.
  Response response = download("application/octet-stream", file, {});
  // The stored recording must outlive the stream.
  response.pour = [viewed, pool = store.pool(), csv = format == "csv", kept = request.stored](const Write& write) {
    const auto kind_of_file = csv ? insight::TableFormat::csv : insight::TableFormat::npy;
    insight::write_table(*viewed.tables, viewed.head, kind_of_file, *pool, write);
  };
  return response;
}

// ---- the whole ----

Response page(RecordingStore& store, const RoutedRequest& request) {
  request.allow({"words", "state"});
  const Begin begin{request.text("state").value_or(""), request.words()};
  return download("text/html; charset=utf-8", in_file_name(request.stored->name()) + ".html",
                  shared(offline_page(store.offline(), *request.stored, begin, *store.pool(), request.progress())));
}

Response recording(RecordingStore& store, const RoutedRequest& request) {
  request.allow({});
  static_cast<void>(store);
  const model::Recording* const recording = request.stored->stored_tables(false).recording();
  if (recording == nullptr) throw HttpError(409, "a table is not a recording: download its numbers head by head");
  Response response = download("application/octet-stream", in_file_name(request.stored->name()) + ".attn", {});
  response.pour = [recording, kept = request.stored](const Write& write) { model::write_recording(*recording, write); };
  return response;
}

}  // namespace attn::server
