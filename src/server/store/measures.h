// server/store/measures.h - what a question looks at: a head's weights, or the same by value, rolled out, without
// sinks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "insight/tables/attention_tables.h"
#include "server/http/request.h"
#include "server/store/recording_store.h"

namespace attn::server {

enum class Measure : std::uint8_t { raw, value, rollout };
std::string_view name_of(Measure measure) noexcept;

// measure=raw|value|rollout, aside=1, words=1 of a query. Throws std::invalid_argument.
struct ViewOptions {
  Measure measure = Measure::raw;
  bool aside = false, words = false;

  static ViewOptions of(const RoutedRequest& request);
  [[nodiscard]] std::string key() const;  // "value/words"
};

// Of the exhibit that is asked about; of rollouts `layer` is looked at, as layer 0 of one head. Throws
// std::invalid_argument where a specimen has no such measure.
std::shared_ptr<const insight::AttentionTables> seen(RecordingStore& store, const RoutedRequest& request,
                                                     const ViewOptions& view, std::int64_t layer);

// A head as it is looked at.
struct ViewedHead {
  std::shared_ptr<const insight::AttentionTables> tables;
  insight::HeadId head;  // of the specimen
  std::string key;       // with which the names of all begin that is kept of it

  [[nodiscard]] const insight::AttentionStack& stack() const { return tables->stack(head.kind); }
};
// Reads kind, layer, head and what ViewOptions::of() does.
ViewedHead viewed_head(RecordingStore& store, const RoutedRequest& request);

}  // namespace attn::server
