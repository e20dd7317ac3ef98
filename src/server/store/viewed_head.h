// server/store/viewed_head.h - the head that a request names, under the request's ViewOptions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "insight/tables/attention_tables.h"
#include "insight/tables/view_options.h"
#include "server/http/request.h"
#include "server/store/recording_store.h"

namespace attn::server {

// Parses measure=raw|value|rollout, without_sinks=1 and words=1 of the query. Throws std::invalid_argument.
insight::ViewOptions view_options(const RoutedRequest& request);

// The request's recording under these options. A rollout is computed for `layer` and becomes layer 0 with one head.
// Throws std::invalid_argument if the recording lacks what the measure needs.
std::shared_ptr<const insight::AttentionTables> viewed_tables(RecordingStore& store, const RoutedRequest& request,
                                                              const insight::ViewOptions& view, std::int64_t layer);

struct ViewedHead {
  std::shared_ptr<const insight::AttentionTables> tables;
  insight::HeadId head;  // among `tables`
  std::string key;       // prefix of everything that the byte cache keeps of it

  [[nodiscard]] const insight::AttentionStack& stack() const { return tables->stack(head.kind); }
};
// Reads kind, layer, head and the view options of the query.
ViewedHead viewed_head(RecordingStore& store, const RoutedRequest& request);

}  // namespace attn::server
