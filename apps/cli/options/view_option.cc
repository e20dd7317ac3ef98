#include "apps/cli/options/view_option.h"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "apps/cli/output/progress.h"

namespace attn::cli {

void ViewOption::add_to(CLI::App& command, bool with_measure) {
  source.add_to(command, SourceOption::Takes::tables);
  if (with_measure) {
    command
        .add_option("--measure", measure,
                    "Numbers to show: raw weights, or value: each weight times the norm of its value, |p v W_O|")
        ->check(CLI::IsMember({"raw", "value"}))
        ->capture_default_str();
  }
  command.add_flag("--words", words, "Join the pieces of each word: rows are averaged, columns added");
  command.add_flag("--without-sinks", without_sinks,
                   "Remove sinks: the first key and special tokens weigh 0, rows are renormalised");
  add_old_flag(command, "--aside", "--without-sinks", without_sinks);
}

OpenedTables ViewOption::open(ThreadPool& pool) const {
  const insight::ViewOptions view{
      .measure = insight::parse_measure(measure), .words = words, .without_sinks = without_sinks};
  const bool by_value = view.measure == insight::Measure::value;
  if (words && source.table) throw UsageError("--words needs a model: a table's tokens are words already");
  if (by_value && source.table) throw UsageError("--measure value needs a model: a table holds weights only");
  if (by_value && without_sinks)
    throw UsageError("--without-sinks renormalises weights: it does not go with --measure value");
  std::shared_ptr<const insight::AttentionTables> tables = source.open({.value_norms = by_value}, pool);
  std::string name = source.name_of(*tables);
  return {insight::view(std::move(tables), view), std::move(name), view};
}

void LayerOption::add_to(CLI::App& command) {
  layer.add_to(command, false);
  command.add_option("--heads", heads, "Which heads, from 0 (default: all)")->delimiter(',')->type_name("H,...");
}

std::vector<insight::HeadId> LayerOption::chosen(const insight::AttentionTables& tables) const {
  HeadOption one = layer;
  std::vector<insight::HeadId> names;
  one.head = 0;
  const insight::HeadId first = one.one(tables);
  const std::int64_t count = tables.stack(first.kind).heads;
  for (std::int64_t h = 0; heads.empty() && h < count; ++h) names.push_back({first.kind, first.layer, h});
  for (const std::int64_t head : heads) {
    one.head = head;
    names.push_back(one.one(tables));
  }
  return names;
}

std::vector<insight::Picture> pictures_of(const insight::AttentionTables& tables,
                                          const std::vector<insight::HeadId>& heads, std::int64_t most,
                                          insight::Reduce reduce, ThreadPool& pool) {
  ProgressLine line;
  const auto progress = [&](std::int64_t done, std::int64_t total) { line.count(done, total, "head"); };
  return figure::pictures_of(tables, heads, {.most = most, .reduce = reduce, .progress = progress}, pool);
}

Json to_json(const OpenedTables& opened, insight::Kind kind) {
  return {{"kind", std::string(name_of(kind))},
          {"measure", std::string(name_of(opened.view.measure))},
          {"without_sinks", opened.view.without_sinks},
          {"aside", opened.view.without_sinks},  // its name in version 0.1
          {"tokens", texts_of(opened.tables->queries(kind))},
          {"keys", texts_of(opened.tables->keys(kind))}};
}

Json to_json(const OpenedTables& opened, const std::vector<insight::HeadId>& heads,
             const std::vector<insight::Picture>& pictures) {
  Json json = to_json(opened, heads.front().kind);
  Json& tables = json["heads"] = Json::array();
  for (std::size_t h = 0; h < heads.size(); ++h) {
    tables.push_back({{"layer", heads[h].layer}, {"head", heads[h].head}, {"weights", rows_of(pictures[h].cells)}});
  }
  if (pictures.front().reduced()) json["reduce"] = std::string(figure::name_of(pictures.front().reduce));
  return json;
}

}  // namespace attn::cli
