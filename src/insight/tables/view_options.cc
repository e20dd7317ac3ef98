#include "insight/tables/view_options.h"

#include <stdexcept>
#include <utility>

#include "insight/tables/value_weighted.h"
#include "insight/tables/without_sinks.h"
#include "insight/tables/words.h"

namespace attn::insight {

std::string_view name_of(Measure measure) noexcept {
  return measure == Measure::raw ? "raw" : measure == Measure::value ? "value" : "rollout";
}

Measure parse_measure(std::string_view name) {
  for (const Measure measure : {Measure::raw, Measure::value, Measure::rollout})
    if (name == name_of(measure)) return measure;
  throw std::invalid_argument("measure must be raw, value or rollout, not '" + std::string(name) + "'");
}

std::string ViewOptions::key() const {
  return std::string(name_of(measure)) + (without_sinks ? "/without-sinks" : "") + (words ? "/words" : "");
}

void check(const ViewOptions& options) {
  if (options.without_sinks && options.measure != Measure::raw)
    throw std::invalid_argument("removing sinks renormalises weights, so it does not go with measure '" +
                                std::string(name_of(options.measure)) + "'");
}

std::shared_ptr<const AttentionTables> view(std::shared_ptr<const AttentionTables> tables, const ViewOptions& options) {
  check(options);
  if (options.measure == Measure::rollout) throw std::invalid_argument("rollout has tables of its own");
  if (options.measure == Measure::value) tables = value_weighted(std::move(tables));
  if (options.words) tables = merged_words(std::move(tables));
  if (options.without_sinks) tables = without_sinks(std::move(tables));
  return tables;
}

}  // namespace attn::insight
