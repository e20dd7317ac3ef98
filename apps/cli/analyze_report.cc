#include "analyze_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "command.h"

namespace attn::cli {

namespace {

using insight::HeadReport;
using insight::HeadStatistics;
using insight::Shares;

bool several_kinds(const std::vector<HeadReport>& heads) {
  return heads.front().statistics.name.kind != heads.back().statistics.name.kind;
}

// As many types as there is room for, and … for the others.
std::string names_of(const HeadReport& head, int room) {
  std::string names;
  for (std::size_t n = 0; n < head.types.size(); ++n) {
    const std::string next = fmt::format("{}{} {:.2f}", n == 0 ? "" : ", ", head.types[n].name, head.types[n].score);
    const int more = n + 1 < head.types.size() ? 3 : 0;  // for ", …"
    if (n > 0 && columns_of(names + next) + more > room) return names + ", …";
    names += next;
  }
  return names.empty() ? "-" : names;
}

// Of the table of heads; a space follows.
struct Column {
  std::string_view title;
  int width = 0;
  std::string (*text)(const HeadReport&) = nullptr;
  bool left = false;

  [[nodiscard]] std::string field(std::string_view of) const { return fitted(of, width, !left) + " "; }
};

// Those that leave room for the types; numbers that say less are left out first.
std::vector<Column> columns_for(bool kinds, int width) {
  constexpr int kTypes = 22;  // "previous token 0.66, …"
  std::vector<Column> columns = {
      {"layer", 5, [](const HeadReport& r) { return fmt::format("{}", r.statistics.name.layer); }},
      {"head", 4, [](const HeadReport& r) { return fmt::format("{}", r.statistics.name.head); }},
      {"interest", 8, [](const HeadReport& r) { return fmt::format("{:.2f}", r.interest); }},
      {"entropy", 7, [](const HeadReport& r) { return fmt::format("{:.2f}", r.statistics.entropy); }},
      {"of max", 6, [](const HeadReport& r) { return fmt::format("{:.2f}", r.statistics.entropy_share); }},
      {"distance", 8, [](const HeadReport& r) { return fmt::format("{:.1f}", r.statistics.distance); }},
      {"sinks", 5, [](const HeadReport& r) { return fmt::format("{:.2f}", r.statistics.shares.sink()); }}};
  if (kinds) {
    const auto kind = [](const HeadReport& r) { return std::string(name_of(r.statistics.name.kind)); };
    columns.insert(columns.begin(), {"kind", 7, kind, true});
  }
  const std::size_t least = kinds ? 3 : 2;
  const auto taken = [&] {
    int sum = 1;
    for (const Column& column : columns) sum += column.width + 1;
    return sum;
  };
  while (columns.size() > least && width - taken() < kTypes) columns.pop_back();
  return columns;
}

Json numbers(const std::vector<float>& values) { return values; }

Json to_json(const Shares& shares) {
  Json json;
  for (const auto& [name, share] : insight::kShareNames) json[name] = static_cast<float>(shares.*share);
  json["previous"] = static_cast<float>(shares.offset(-1));
  json["same"] = static_cast<float>(shares.offset(0));
  json["next"] = static_cast<float>(shares.offset(1));
  json["offsets"] = std::vector<float>(shares.offsets.begin(), shares.offsets.end());
  return json;
}

Json to_json(const std::vector<insight::HeadType>& types) {
  Json json = Json::array();
  for (const insight::HeadType& type : types) {
    json.push_back({{"name", type.name}, {"score", static_cast<float>(type.score)}, {"reason", type.reason}});
  }
  return json;
}

Json head_json(const HeadReport& report, std::int64_t rank) {
  const HeadStatistics& head = report.statistics;
  Json json = {{"layer", head.name.layer},
               {"head", head.name.head},
               {"kind", std::string(name_of(head.name.kind))},
               {"rank", rank},
               {"interest", static_cast<float>(report.interest)},
               {"entropy", static_cast<float>(head.entropy)},
               {"entropy_share", static_cast<float>(head.entropy_share)}};
  if (!head.received.empty()) {  // of one text
    json["received"] = numbers(head.received);
    json["outgoing"] = numbers(head.outgoing);
    json["diagonal"] = numbers(head.diagonal);
  }
  json["distance"] = static_cast<float>(head.distance);
  json["types"] = to_json(report.types);
  json["shares"] = to_json(head.shares);
  json["even"] = to_json(head.even);
  return json;
}

}  // namespace

HeadsReport::HeadsReport(std::vector<HeadStatistics> statistics, const nn::Matrix& induction)
    : heads(insight::report(std::move(statistics), induction)), ranking(insight::ranking(heads)) {}

std::string HeadsReport::first_line(const Terminal& terminal) const {
  const HeadReport& best = heads[ranking.front()];
  return terminal.sentence(
      {{"Look at"}, {to_string(best.statistics.name) + ":", Phrase::Style::bold}, {best.reason() + "."}});
}

std::string HeadsReport::table(std::int64_t top, const Terminal& terminal) const {
  const std::vector<Column> columns = columns_for(several_kinds(heads), terminal.width());
  std::string titles;
  int taken = 0;
  for (const Column& column : columns) {
    titles += column.field(column.title);
    taken += column.width + 1;
  }
  const int room = terminal.width() - taken - 1;
  std::string out = terminal.dim(titles + " types") + "\n";
  const auto rows = std::min<std::int64_t>(top, std::ssize(ranking));
  for (std::int64_t row = 0; row < rows; ++row) {
    const HeadReport& report = heads[ranking[static_cast<std::size_t>(row)]];
    for (const Column& column : columns) out += column.field(column.text(report));
    out += " " + names_of(report, room) + "\n";
  }
  if (const std::int64_t more = std::ssize(ranking) - rows; more > 0)
    out += terminal.note(counted(more, "more head") + ": --all shows them, --top N so many");
  return without_blank_ends(out);
}

Json HeadsReport::look_at() const {
  const HeadReport& best = heads[ranking.front()];
  const insight::HeadName& name = best.statistics.name;
  return {
      {"layer", name.layer}, {"head", name.head}, {"kind", std::string(name_of(name.kind))}, {"reason", best.reason()}};
}

Json HeadsReport::to_json() const {
  std::vector<std::int64_t> ranks(heads.size());
  for (std::size_t r = 0; r < ranking.size(); ++r) ranks[ranking[r]] = static_cast<std::int64_t>(r) + 1;
  Json json = Json::array();
  for (std::size_t n = 0; n < heads.size(); ++n) json.push_back(head_json(heads[n], ranks[n]));
  return json;
}

Json to_json(const std::vector<insight::LayerStatistics>& layers) {
  Json json = Json::array();
  for (const insight::LayerStatistics& layer : layers) {
    Json one = {{"layer", layer.layer},
                {"kind", std::string(name_of(layer.kind))},
                {"entropy", static_cast<float>(layer.entropy)}};
    if (!layer.received.empty()) {
      one["received"] = numbers(layer.received);
      one["outgoing"] = numbers(layer.outgoing);
      one["diagonal"] = numbers(layer.diagonal);
    }
    json.push_back(std::move(one));
  }
  return json;
}

figure::Curves HeadsReport::curves() const {
  struct Layer {
    double sum = 0, low = 0, high = 0, count = 0;
  };
  std::map<std::pair<insight::Kind, std::int64_t>, Layer> layers;
  for (const HeadReport& report : heads) {
    const double entropy = report.statistics.entropy;
    Layer& layer = layers[{report.statistics.name.kind, report.statistics.name.layer}];
    layer.low = layer.count == 0 ? entropy : std::min(layer.low, entropy);
    layer.high = layer.count == 0 ? entropy : std::max(layer.high, entropy);
    layer.sum += entropy;
    ++layer.count;
  }
  figure::Curves out;
  out.title = "Entropy of attention by layer";
  out.x_label = "Layer";
  out.y_label = "Entropy (nats)";
  for (const insight::Kind kind : {insight::Kind::self, insight::Kind::decoder, insight::Kind::cross}) {
    const std::string before = several_kinds(heads) ? std::string(name_of(kind)) + ", " : "";
    figure::Curves::Curve mean{before + "mean of heads", {}, {}}, low{before + "lowest head", {}, {}},
        high{before + "highest head", {}, {}};
    for (const auto& [name, layer] : layers) {
      if (name.first != kind) continue;
      for (auto* curve : {&mean, &low, &high}) curve->x.push_back(static_cast<double>(name.second));
      mean.y.push_back(layer.sum / layer.count);
      low.y.push_back(layer.low);
      high.y.push_back(layer.high);
    }
    if (mean.x.empty()) continue;
    for (auto* curve : {&mean, &low, &high}) out.curves.push_back(std::move(*curve));
  }
  return out;
}

}  // namespace attn::cli
