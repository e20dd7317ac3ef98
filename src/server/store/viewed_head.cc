#include "server/store/viewed_head.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "insight/io/table_text.h"
#include "insight/paths/rollout.h"
#include "server/http/encode.h"

namespace attn::server {

namespace {

// The rollout of one layer, as tables with one layer and one head.
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
  return insight::view(std::move(table), {.words = words});
}

}  // namespace

insight::ViewOptions view_options(const RoutedRequest& request) {
  const insight::ViewOptions view{.measure = insight::parse_measure(request.text("measure").value_or("raw")),
                                  .words = request.words(),
                                  .without_sinks = request.flag("without_sinks")};
  check(view);
  return view;
}

std::shared_ptr<const insight::AttentionTables> viewed_tables(RecordingStore& store, const RoutedRequest& request,
                                                              const insight::ViewOptions& view, std::int64_t layer) {
  if (view.measure != insight::Measure::rollout) return request.stored->viewed(view);
  if (request.kind_named() != Kind::self) throw std::invalid_argument("rollout exists only for attention of kind self");
  return rolled_out(store, request, layer, view.words);
}

ViewedHead viewed_head(RecordingStore& store, const RoutedRequest& request) {
  const insight::ViewOptions view = view_options(request);
  insight::HeadId head = request.head();
  std::string key = request.stored->id() + "/" + view.key() + "/" + std::string(model::name_of(head.kind)) + "/" +
                    std::to_string(head.layer);
  auto tables = viewed_tables(store, request, view, head.layer);
  if (view.measure == insight::Measure::rollout) {
    head = {};
  } else {
    key += "/" + std::to_string(head.head);
  }
  return {std::move(tables), head, std::move(key)};
}

}  // namespace attn::server
