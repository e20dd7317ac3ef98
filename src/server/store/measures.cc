#include "server/store/measures.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "insight/io/table_text.h"
#include "insight/paths/rollout.h"
#include "insight/tables/words.h"
#include "server/http/encode.h"

namespace attn::server {

namespace {

// Of one layer, as the only head of the only layer.
std::shared_ptr<const insight::AttentionTables> rolled_out(RecordingStore& store, const RoutedRequest& request,
                                                           std::int64_t layer, bool words) {
  const insight::AttentionTables& tables = request.stored->stored_tables(false).tables();
  const std::string key = request.stored->id() + "/rollout/" + std::to_string(layer);
  const Bytes bytes = store.cache().get(key, request.progress("row"), [&](const base::Progress& progress) {
    return std::string(insight::bytes_of(insight::rollout(tables, layer, *store.pool(), progress)));
  });
  const std::int64_t n = tables.stack(Kind::self).queries;
  insight::InMemoryTables::Part part{Kind::self, {1, 1, nn::Matrix(n, n)}, tables.queries(Kind::self), {}};
  std::memcpy(part.tables.numbers.data(), bytes->data(), bytes->size());
  std::vector<insight::InMemoryTables::Part> parts;
  parts.push_back(std::move(part));
  auto table = std::make_shared<const insight::InMemoryTables>(std::move(parts));
  if (!words) return table;
  return insight::merged_words(std::move(table));
}

}  // namespace

std::string_view name_of(Measure measure) noexcept {
  return measure == Measure::raw ? "raw" : measure == Measure::value ? "value" : "rollout";
}

ViewOptions ViewOptions::of(const RoutedRequest& request) {
  const std::string given = request.text("measure").value_or("raw");
  ViewOptions view{Measure::raw, request.flag("aside"), request.words()};
  for (const Measure measure : {Measure::value, Measure::rollout}) {
    if (given == name_of(measure)) view.measure = measure;
  }
  if (given != name_of(view.measure))
    throw std::invalid_argument("measure must be raw, value or rollout, not '" + given + "'");
  if (view.aside && view.measure != Measure::raw)
    throw std::invalid_argument("aside=1 renormalises weights: it does not go with measure=" + given);
  return view;
}

std::string ViewOptions::key() const {
  return std::string(name_of(measure)) + (aside ? "/aside" : "") + (words ? "/words" : "");
}

std::shared_ptr<const insight::AttentionTables> seen(RecordingStore& store, const RoutedRequest& request,
                                                     const ViewOptions& view, std::int64_t layer) {
  if (view.aside) return request.stored->aside(view.words);
  if (view.measure == Measure::value) return request.stored->by_value(view.words);
  if (view.measure == Measure::rollout) {
    if (request.kind_named() != Kind::self) throw std::invalid_argument("rollout follows attention of kind self");
    return rolled_out(store, request, layer, view.words);
  }
  return request.stored->stored_tables(view.words).shared();
}

ViewedHead viewed_head(RecordingStore& store, const RoutedRequest& request) {
  const ViewOptions view = ViewOptions::of(request);
  insight::HeadId head = request.head();
  std::string key = request.stored->id() + "/" + view.key() + "/" + std::string(model::name_of(head.kind)) + "/" +
                    std::to_string(head.layer);
  auto tables = seen(store, request, view, head.layer);
  if (view.measure == Measure::rollout) {
    head = {};
  } else {
    key += "/" + std::to_string(head.head);
  }
  return {std::move(tables), head, std::move(key)};
}

}  // namespace attn::server
