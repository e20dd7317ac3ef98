#include "server/routes/rows.h"

#include <vector>

#include "insight/blocks/profile.h"
#include "insight/io/json.h"
#include "server/http/encode.h"

namespace attn::server {

Response row_of(RecordingStore& store, const RoutedRequest& request, const ViewedHead& viewed) {
  const std::int64_t row = request.number("row"), keys = viewed.stack().keys;
  insight::need_index("row", row, viewed.stack().queries);
  return octets(store.cache().get(viewed.key + "/row/" + std::to_string(row), [&] {
    std::vector<float> weights(static_cast<std::size_t>(keys));
    viewed.tables->weights(viewed.head, {row, 0}, View<float, 2>{weights.data(), {1, keys}}, *store.pool());
    return float_bytes(weights);
  }));
}

Response column_of(RecordingStore& store, const RoutedRequest& request, const ViewedHead& viewed) {
  const std::int64_t column = request.number("column"), queries = viewed.stack().queries;
  insight::need_index("column", column, viewed.stack().keys);
  return octets(store.cache().get(viewed.key + "/column/" + std::to_string(column), [&] {
    std::vector<float> weights(static_cast<std::size_t>(queries));
    viewed.tables->weights(viewed.head, {0, column}, View<float, 2>{weights.data(), {queries, 1}}, *store.pool());
    return float_bytes(weights);
  }));
}

Response row(RecordingStore& store, const RoutedRequest& request) {
  request.allow({"words", "kind", "layer", "head", "row", "measure", "without_sinks"});
  return row_of(store, request, viewed_head(store, request));
}

Response column(RecordingStore& store, const RoutedRequest& request) {
  request.allow({"words", "kind", "layer", "head", "column", "measure", "without_sinks"});
  return column_of(store, request, viewed_head(store, request));
}

Response profile(RecordingStore& store, const RoutedRequest& request) {
  request.allow({"words", "kind", "layer", "head", "measure", "without_sinks"});
  const ViewedHead viewed = viewed_head(store, request);
  return {200, kJson, store.cache().get(viewed.key + "/profile", [&] {
            const insight::Profile found = insight::profile(*viewed.tables, viewed.head, *store.pool());
            return insight::as_line(insight::Json{{"received", found.received}, {"entropy", found.entropy}});
          })};
}

}  // namespace attn::server
