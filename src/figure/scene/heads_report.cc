#include "figure/scene/heads_report.h"

#include <algorithm>
#include <map>
#include <utility>

#include "figure/terminal/columns.h"

namespace attn::figure {

namespace {

using insight::HeadReport;
using insight::HeadsReport;
using insight::Kind;

bool several_kinds(const std::vector<HeadReport>& heads) {
  return heads.front().statistics.name.kind != heads.back().statistics.name.kind;
}

// As many types as fit, then … for the others.
std::string names_of(const HeadReport& head, int room) {
  std::string names;
  for (std::size_t n = 0; n < head.types.size(); ++n) {
    const std::string next = (n == 0 ? "" : ", ") + head.types[n].name + " " + number(head.types[n].score, 2);
    const int more = n + 1 < head.types.size() ? 3 : 0;  // for ", …"
    if (n > 0 && columns_of(names + next) + more > room) return names + ", …";
    names += next;
  }
  return names.empty() ? "-" : names;
}

// A column of the table of heads; a space follows it.
struct Column {
  std::string_view title;
  int width = 0;
  std::string (*text)(const HeadReport&) = nullptr;
  bool left = false;

  [[nodiscard]] std::string field(std::string_view of) const { return fitted(of, width, !left) + " "; }
};

// The columns that leave room for the types; the least informative numbers are dropped first.
std::vector<Column> report_columns(bool kinds, int width) {
  constexpr int kTypes = 22;  // "previous token 0.66, …"
  std::vector<Column> columns = {
      {"layer", 5, [](const HeadReport& r) { return std::to_string(r.statistics.name.layer); }},
      {"head", 4, [](const HeadReport& r) { return std::to_string(r.statistics.name.head); }},
      {"interest", 8, [](const HeadReport& r) { return number(r.interest, 2); }},
      {"entropy", 7, [](const HeadReport& r) { return number(r.statistics.entropy, 2); }},
      {"of max", 6, [](const HeadReport& r) { return number(r.statistics.entropy_share, 2); }},
      {"distance", 8, [](const HeadReport& r) { return number(r.statistics.distance, 1); }},
      {"sinks", 5, [](const HeadReport& r) { return number(r.statistics.shares.sink(), 2); }}};
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

}  // namespace

std::string failed_check(const insight::CheckResult& check, const Terminal& terminal) {
  if (!check.failure) return "";
  return terminal.sentence({{"Check failed:", Phrase::Style::bold},
                            {to_string(*check.failure) + ": these are not attention weights."}}) +
         "\n";
}

std::string first_line(const HeadsReport& report, const Terminal& terminal) {
  const HeadReport& best = report.best();
  return terminal.sentence(
      {{"Look at"}, {to_string(best.statistics.name) + ":", Phrase::Style::bold}, {best.reason() + "."}});
}

std::string table_of(const HeadsReport& report, std::int64_t top, const Terminal& terminal) {
  const std::vector<Column> columns = report_columns(several_kinds(report.heads), terminal.width());
  std::string titles;
  int taken = 0;
  for (const Column& column : columns) {
    titles += column.field(column.title);
    taken += column.width + 1;
  }
  const int room = terminal.width() - taken - 1;
  std::string out = terminal.dim(titles + " types") + "\n";
  const auto rows = std::min<std::int64_t>(top, std::ssize(report.ranking));
  for (std::int64_t row = 0; row < rows; ++row) {
    const HeadReport& head = report.heads[report.ranking[static_cast<std::size_t>(row)]];
    for (const Column& column : columns) out += column.field(column.text(head));
    out += " " + names_of(head, room) + "\n";
  }
  return without_blank_ends(out);
}

Curves entropy_curves(const HeadsReport& report) {
  struct Layer {
    double sum = 0, low = 0, high = 0, count = 0;
  };
  std::map<std::pair<Kind, std::int64_t>, Layer> layers;
  for (const HeadReport& head : report.heads) {
    const double entropy = head.statistics.entropy;
    Layer& layer = layers[{head.statistics.name.kind, head.statistics.name.layer}];
    layer.low = layer.count == 0 ? entropy : std::min(layer.low, entropy);
    layer.high = layer.count == 0 ? entropy : std::max(layer.high, entropy);
    layer.sum += entropy;
    ++layer.count;
  }
  Curves out;
  out.title = "Entropy of attention by layer";
  out.x_label = "Layer";
  out.y_label = "Entropy (nats)";
  for (const Kind kind : {Kind::self, Kind::decoder, Kind::cross}) {
    const std::string before = several_kinds(report.heads) ? std::string(name_of(kind)) + ", " : "";
    Curves::Curve mean{before + "mean of heads", {}, {}}, low{before + "lowest head", {}, {}},
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

}  // namespace attn::figure
