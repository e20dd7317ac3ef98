// cli/view.cc
#include "apps/cli/options/view_option.h"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "apps/cli/output/progress.h"
#include "insight/tables/value_weighted.h"
#include "insight/tables/without_sinks.h"
#include "insight/tables/words.h"

namespace attn::cli {

void ViewOption::add_to(CLI::App& command, bool with_measure) {
  source.add_to(command, SourceOption::Takes::tables);
  if (with_measure) {
    command
        .add_option("--measure", measure, "raw: the weights; value: each times the norm of what it brings, |p v W_O|")
        ->check(CLI::IsMember({"raw", "value"}))
        ->capture_default_str();
  }
  command.add_flag("--words", words, "Pieces of a word are put together: rows are averaged, columns added");
  command.add_flag("--aside", aside,
                   "Sinks set aside: the first key and special tokens weigh 0, rows are renormalised");
}

OpenedTables ViewOption::open(ThreadPool& pool) const {
  const bool by_value = measure == "value";
  if (words && source.table) throw UsageError("--words needs a model: a table's tokens are words already");
  if (by_value && source.table) throw UsageError("--measure value needs a model: a table holds weights only");
  if (by_value && aside) throw UsageError("--aside renormalises weights: it does not go with --measure value");
  OpenedTables opened{source.open({.value_norms = by_value}, pool), "", by_value, aside};
  opened.name = source.name_of(*opened.tables);
  if (by_value) opened.tables = insight::value_weighted(std::move(opened.tables));
  if (words) opened.tables = insight::merged_words(std::move(opened.tables));
  if (aside) opened.tables = insight::without_sinks(std::move(opened.tables));
  return opened;
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

Json to_json(const OpenedTables& opened, const std::vector<insight::HeadId>& heads,
             const std::vector<insight::Picture>& pictures, const ViewOption& view) {
  const model::Kind kind = heads.front().kind;
  Json tables = Json::array();
  for (std::size_t h = 0; h < heads.size(); ++h) {
    tables.push_back({{"layer", heads[h].layer}, {"head", heads[h].head}, {"weights", rows_of(pictures[h].cells)}});
  }
  Json json = {{"kind", std::string(name_of(kind))},
               {"measure", view.measure},
               {"aside", view.aside},
               {"tokens", texts_of(opened.tables->queries(kind))},
               {"keys", texts_of(opened.tables->keys(kind))},
               {"heads", std::move(tables)}};
  if (pictures.front().reduced()) json["reduce"] = std::string(figure::name_of(pictures.front().reduce));
  return json;
}

}  // namespace attn::cli
