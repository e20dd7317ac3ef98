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

std::string names_of(const HeadReport& head) {
  std::string names;
  for (const insight::HeadType& type : head.types) {
    names += fmt::format("{}{} {:.2f}", names.empty() ? "" : ", ", type.name, type.score);
  }
  return names.empty() ? "-" : names;
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
  return "Look at " + terminal.bold(to_string(best.statistics.name)) + ": " + best.reason() + ".\n";
}

std::string HeadsReport::table(std::int64_t top, const Terminal& terminal) const {
  const bool kinds = several_kinds(heads);
  const std::string titles = fmt::format("{}{:>5} {:>4} {:>8} {:>7} {:>6} {:>8} {:>5}  ", kinds ? "kind    " : "",
                                         "layer", "head", "interest", "entropy", "of max", "distance", "sinks");
  const int room = std::max(20, terminal.width() - static_cast<int>(titles.size()));
  std::string out = terminal.dim(titles + "types") + "\n";
  const auto rows = std::min<std::int64_t>(top, std::ssize(ranking));
  for (std::int64_t row = 0; row < rows; ++row) {
    const HeadReport& report = heads[ranking[static_cast<std::size_t>(row)]];
    const HeadStatistics& head = report.statistics;
    const std::string line =
        fmt::format("{}{:>5} {:>4} {:>8.2f} {:>7.2f} {:>6.2f} {:>8.1f} {:>5.2f}  ",
                    kinds ? fmt::format("{:<8}", name_of(head.name.kind)) : "", head.name.layer, head.name.head,
                    report.interest, head.entropy, head.entropy_share, head.distance, head.shares.sink());
    const std::string names = names_of(report);
    out += line + (columns_of(names) > room ? fitted(names, room) : names) + "\n";
  }
  if (rows < std::ssize(ranking)) {
    out += terminal.dim(fmt::format("{} more heads: --all shows them, --top N so many", std::ssize(ranking) - rows)) +
           "\n";
  }
  return out;
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
