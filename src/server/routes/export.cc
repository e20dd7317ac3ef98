// server/routes/export.cc - files of a specimen: pictures, tables, the page as one file, the recording.
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
#include "server/http/file_names.h"
#include "server/routes/offline.h"
#include "server/routes/routes.h"
#include "server/store/measures.h"

namespace attn::server {

namespace {

using insight::HeadName;

// What stands behind the heads of a picture in the file's name: "-value", "-aside", "-words".
std::string suffix_of(const Look& look) {
  std::string key = look.key();
  std::ranges::replace(key, '/', '-');
  return key == "raw" ? "" : "-" + (key.starts_with("raw-") ? key.substr(4) : key);
}

// ---- pictures ----

// What is drawn, by whom, and how.
struct Drawing {
  Desk& desk;
  const Question& asked;
  Look look;
  Kind kind;
  std::shared_ptr<const insight::Specimen> specimen;

  [[nodiscard]] figure::Subject subject() const {
    return {*specimen, asked.exhibit->name(), look.measure == Measure::value, look.aside};
  }
  [[nodiscard]] std::vector<insight::Picture> pictures(const std::vector<HeadName>& heads, std::int64_t most) const {
    return figure::pictures_of(*specimen, heads, {.most = most, .progress = asked.progress()}, *desk.pool());
  }
  [[nodiscard]] HeadName head() const {
    const HeadName head{kind, asked.number("layer"), asked.number("head")};
    specimen->check(head);
    return head;
  }
  // Those of heads=0,3; without it all of the layer.
  [[nodiscard]] std::vector<HeadName> heads() const {
    std::vector<HeadName> heads;
    const std::int64_t layer = asked.number("layer");
    for (const std::int64_t head : asked.numbers("heads")) heads.push_back({kind, layer, head});
    const std::int64_t all = specimen->stack(kind).heads;
    for (std::int64_t head = 0; !asked.text("heads") && head < all; ++head) heads.push_back({kind, layer, head});
    for (const HeadName& head : heads) specimen->check(head);
    return heads;
  }
};

struct Drawn {
  figure::Figure figure;
  std::string name;  // of the file, without its end
};

std::string layer_in_name(const Drawing& drawing) {
  const std::string kind = drawing.kind == Kind::self ? "" : "-" + std::string(model::name_of(drawing.kind));
  return kind + "-layer" + std::to_string(drawing.asked.number("layer"));
}

// The map that was asked for, in place of the figure's own.
template <typename F>
F coloured(F figure, const Question& asked) {
  figure.shade.cmap = asked.text("map").value_or(figure.shade.cmap);
  figure::colour_map(figure.shade.cmap);
  return figure;
}

Drawn draw_rollout(const Drawing& drawing) {
  const std::int64_t layer = drawing.asked.number("layer");
  insight::UpperTokens upper{layer, {}};
  const insight::Stack& all = drawing.specimen->stack(Kind::self);
  for (std::int64_t i = 0; i < all.queries; ++i) upper.tokens.push_back(i);
  const nn::Matrix numbers = drawing.specimen->weights({}, *drawing.desk.pool());
  return {coloured(figure::followed_of(*drawing.specimen, {upper, numbers, "rollout", figure::kRolloutMeasure}),
                   drawing.asked),
          layer_in_name(drawing)};
}

Drawn draw_heatmap(const Drawing& drawing) {
  if (drawing.look.measure == Measure::rollout) return draw_rollout(drawing);
  const HeadName head = drawing.head();
  auto pictures = drawing.pictures({head}, figure::kHeatmapCells);
  return {coloured(figure::heatmap_of(drawing.subject(), head, std::move(pictures.front())), drawing.asked),
          layer_in_name(drawing) + "-head" + std::to_string(head.head)};
}

Drawn draw_heads(const Drawing& drawing) {
  const std::vector<HeadName> heads = drawing.heads();
  return {
      coloured(figure::grid_of(drawing.subject(), heads, drawing.pictures(heads, figure::kGridCells)), drawing.asked),
      layer_in_name(drawing)};
}

Drawn draw_headview(const Drawing& drawing) {
  const std::vector<HeadName> heads = drawing.heads();
  figure::check_lines(*drawing.specimen, drawing.kind);
  figure::HeadView lines =
      figure::head_view_of(drawing.subject(), heads, drawing.pictures(heads, figure::kHeadViewTokens));
  lines.threshold = drawing.asked.real("threshold", lines.threshold);
  if (lines.threshold < 0 || lines.threshold > 1) throw std::invalid_argument("threshold must lie between 0 and 1");
  return {std::move(lines),
          layer_in_name(drawing) + (heads.size() == 1 ? "-head" + std::to_string(heads[0].head) : "") + "-lines"};
}

Drawn draw_overview(const Drawing& drawing) {
  std::vector<HeadName> heads = drawing.specimen->heads();
  std::erase_if(heads, [&](const HeadName& head) { return head.kind != drawing.kind; });
  const std::string kind = drawing.kind == Kind::self ? "" : "-" + std::string(model::name_of(drawing.kind));
  return {
      coloured(figure::overview_of(drawing.subject(), drawing.kind, drawing.pictures(heads, figure::kOverviewCells)),
               drawing.asked),
      kind + "-overview"};
}

struct ExportedView {
  std::string_view name;
  Drawn (*draw)(const Drawing&);
  std::string_view measures;
  bool of_layer = true;
};
// Lines are as strong as weights: from 0 to 1.
constexpr std::array kViews = {
    ExportedView{"heatmap", &draw_heatmap, "raw, value or rollout"}, ExportedView{"heads", &draw_heads, "raw or value"},
    ExportedView{"headview", &draw_headview, "raw"}, ExportedView{"overview", &draw_overview, "raw or value", false}};

const ExportedView& view_of(const Question& asked) {
  const std::string given = asked.text("view").value_or("heatmap");
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

Answer drawn(const figure::Figure& figure, const std::string& name, const Question& asked) {
  const std::string format = asked.text("format").value_or("png");
  if (format != "png" && format != "svg")
    throw std::invalid_argument("format must be png or svg, not '" + format + "'");
  constexpr double kLeast = 20, kMost = 600;
  const double dpi = asked.real("dpi", figure::Output().dpi);
  if (dpi < kLeast || dpi > kMost) throw std::invalid_argument("dpi must lie between 20 and 600");
  const std::string file = name + "." + format;
  return download(format == "png" ? "image/png" : "image/svg+xml", file,
                  shared(figure::draw(figure, figure::Output{figure::format_of(file), dpi})));
}

Answer figure(Desk& desk, const Question& asked) {
  asked.allow(
      {"words", "view", "format", "kind", "layer", "head", "heads", "threshold", "measure", "aside", "map", "dpi"});
  const ExportedView& view = view_of(asked);
  Drawing drawing{desk, asked, Look::of(asked), asked.kind(), nullptr};
  const std::int64_t layer = view.of_layer ? asked.number("layer") : 0;
  insight::need_index("layer", layer, asked.specimen().stack(drawing.kind).layers);
  if (view.measures.find(name_of(drawing.look.measure)) == std::string_view::npos)
    throw std::invalid_argument("of view=" + std::string(view.name) + " measure must be " + std::string(view.measures));
  drawing.specimen = seen(desk, asked, drawing.look, layer);
  const Drawn done = view.draw(drawing);
  return drawn(done.figure, in_file_name(asked.exhibit->name()) + done.name + suffix_of(drawing.look), asked);
}

// ---- tables ----

Answer table(Desk& desk, const Question& asked) {
  asked.allow({"words", "kind", "layer", "head", "format", "measure", "aside"});
  const std::string format = asked.text("format").value_or("csv");
  if (format != "csv" && format != "npy")
    throw std::invalid_argument("format must be csv or npy, not '" + format + "'");
  const Look look = Look::of(asked);
  const HeadName named = asked.head();
  const Sight sight = sight_of(desk, asked);
  const std::string kind = named.kind == Kind::self ? "" : "-" + std::string(model::name_of(named.kind));
  const std::string head = look.measure == Measure::rollout ? "" : "-head" + std::to_string(named.head);
  const std::string file = in_file_name(asked.exhibit->name()) + kind + "-layer" + std::to_string(named.layer) + head +
                           suffix_of(look) + "." + format;
  // Not text/csv: httplib packs streams of text by brotli at its slowest where a browser takes that, 30 MB in minutes.
  Answer answer = download("application/octet-stream", file, {});
  // The exhibit must outlive what is poured.
  answer.pour = [sight, pool = desk.pool(), csv = format == "csv", kept = asked.exhibit](const Write& write) {
    const auto kind_of_file = csv ? insight::TableFormat::csv : insight::TableFormat::npy;
    insight::write_table(*sight.specimen, sight.head, kind_of_file, *pool, write);
  };
  return answer;
}

// ---- the whole ----

Answer page(Desk& desk, const Question& asked) {
  asked.allow({"words", "state"});
  const Begin begin{asked.text("state").value_or(""), asked.words()};
  return download("text/html; charset=utf-8", in_file_name(asked.exhibit->name()) + ".html",
                  shared(offline_page(desk.offline(), *asked.exhibit, begin, *desk.pool(), asked.progress())));
}

Answer recording(Desk& desk, const Question& asked) {
  asked.allow({});
  static_cast<void>(desk);
  const model::Reading* const reading = asked.exhibit->exposure(false).reading();
  if (reading == nullptr) throw Refused(409, "a table is no recording: its numbers can be had head by head");
  Answer answer = download("application/octet-stream", in_file_name(asked.exhibit->name()) + ".attn", {});
  answer.pour = [reading, kept = asked.exhibit](const Write& write) { model::write_reading(*reading, write); };
  return answer;
}

}  // namespace attn::server
