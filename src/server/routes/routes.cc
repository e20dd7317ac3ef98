#include "server/routes/routes.h"

#include <array>
#include <charconv>
#include <vector>

#include "insight/blocks/profile.h"
#include "insight/io/json.h"
#include "server/http/encode.h"
#include "server/routes/map_tile.h"
#include "server/routes/tables.h"

namespace attn::server {

namespace {

std::string in_digits(float number) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr};
}

}  // namespace

Response tile_of(RecordingStore& store, const RoutedRequest& request, const ViewedHead& viewed) {
  const insight::MapPlace place{request.number("level"), request.number("row"), request.number("column")};
  const auto [rows, columns] = map_tile_shape(viewed.stack(), place);
  Response response = octets(tile_bytes(store, viewed, place, request.progress("tile")));
  response.headers = {{"X-Shape", std::to_string(rows) + "," + std::to_string(columns)}};
  if (const float scale = scale_of(store, viewed); scale != 1)
    response.headers.emplace_back("X-Scale", in_digits(scale));
  return response;
}

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

Response tile(RecordingStore& store, const RoutedRequest& request) {
  request.allow({"words", "kind", "layer", "head", "level", "row", "column", "measure", "aside"});
  return tile_of(store, request, viewed_head(store, request));
}

Response row(RecordingStore& store, const RoutedRequest& request) {
  request.allow({"words", "kind", "layer", "head", "row", "measure", "aside"});
  return row_of(store, request, viewed_head(store, request));
}

Response column(RecordingStore& store, const RoutedRequest& request) {
  request.allow({"words", "kind", "layer", "head", "column", "measure", "aside"});
  return column_of(store, request, viewed_head(store, request));
}

Response profile(RecordingStore& store, const RoutedRequest& request) {
  request.allow({"words", "kind", "layer", "head", "measure", "aside"});
  const ViewedHead viewed = viewed_head(store, request);
  return {200, kJson, store.cache().get(viewed.key + "/profile", [&] {
            const insight::Profile found = insight::profile(*viewed.tables, viewed.head, *store.pool());
            return insight::as_line(insight::Json{{"received", found.received}, {"entropy", found.entropy}});
          })};
}

}  // namespace attn::server
