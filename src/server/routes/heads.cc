// server/routes/heads.cc - traces a weight, and finds heads by their pattern.
#include "server/routes/heads.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "insight/io/json.h"
#include "insight/paths/trace.h"
#include "insight/statistics/find.h"
#include "server/routes/record_request_json.h"

namespace attn::server {

namespace {

// Names of the vectors that a trace lacks.
Json missing(const insight::Trace& found) {
  Json names = Json::array();
  if (found.x.empty()) names.push_back("x");
  if (found.v.empty()) names.push_back("v");
  if (found.contribution.empty()) names.push_back("contribution");
  return names;
}

// Null if the server does not have the model: a recording can be viewed without it.
std::shared_ptr<const model::Reader> reader_or_null(RecordingStore& store, const StoredRecording& stored) {
  try {
    return store.reader_of(stored);
  } catch (const HttpError&) {
    return nullptr;
  }
}

nn::Matrix picture_of(const BodyJson& rows) {
  constexpr std::size_t kMost = 512;  // per side
  const auto wrong = [] {
    return std::invalid_argument(
        "picture must be rows of numbers of equal length, at most 512 x 512: [[0, 1], [1, 0]]");
  };
  if (!rows.is_array() || rows.empty() || rows.size() > kMost || !rows[0].is_array() || rows[0].empty() ||
      rows[0].size() > kMost)
    throw wrong();
  nn::Matrix picture(std::ssize(rows), std::ssize(rows[0]));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (!rows[r].is_array() || rows[r].size() != rows[0].size()) throw wrong();
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      if (!rows[r][c].is_number() || std::abs(rows[r][c].get<double>()) > std::numeric_limits<float>::max())
        throw wrong();
      picture.row(static_cast<std::int64_t>(r))[c] = rows[r][c].get<float>();
    }
  }
  return picture;
}

insight::Pattern pattern_of(const BodyJson& object) {
  const bool pattern = object.contains("pattern"), picture = object.contains("picture");
  if (pattern == picture) throw std::invalid_argument("give a pattern (a name or a mask) or a picture");
  if (picture) return picture_of(object["picture"]);
  if (!object["pattern"].is_string()) throw std::invalid_argument("pattern must be a string");
  return insight::parse_name_or_mask(object["pattern"].get<std::string>());
}

}  // namespace

Response trace(RecordingStore& store, const RoutedRequest& request) {
  request.allow({"words", "kind", "layer", "head", "row", "column"});
  if (request.words()) throw std::invalid_argument("a weight is traced between tokens: words=1 is not possible here");
  const model::Recording* const recording = request.stored->stored_tables(false).recording();
  if (recording == nullptr) throw HttpError(409, "a table holds weights only: there is nothing to trace");
  const insight::HeadId head = request.head();
  const insight::AttentionTables& tables = request.tables();
  const insight::TracePlace place{head, request.number("row"), request.number("column")};
  const std::shared_ptr<const model::Reader> reader = reader_or_null(store, *request.stored);
  const insight::Trace found = insight::trace(*recording, place, reader ? reader->model.get() : nullptr, *store.pool());
  if (!std::isfinite(found.dot) || !std::isfinite(found.weight))
    throw std::runtime_error("scores are not numbers: the model's own weights are broken");
  Json json = insight::to_json(found, tables.queries(head.kind)[static_cast<std::size_t>(found.query)].text,
                               tables.keys(head.kind)[static_cast<std::size_t>(found.key)].text);
  json["missing"] = missing(found);
  return json_response(200, insight::as_line(json));
}

Response find(RecordingStore& store, const RoutedRequest& request) {
  request.allow({"words"});
  const BodyJson object = parse_object(request.body);
  allow_members(object, {"pattern", "picture", "kind"}, "find");
  insight::FindOptions options{.kind = std::nullopt, .progress = request.progress()};
  if (object.contains("kind") && !object["kind"].is_null()) {
    options.kind = object["kind"].is_string() ? model::parse_kind(object["kind"].get<std::string>()) : std::nullopt;
    if (!options.kind) throw std::invalid_argument("kind must be self, decoder or cross");
  }
  const insight::Pattern pattern = pattern_of(object);
  const auto found = insight::find_heads(request.tables(), pattern, options, *store.pool());
  return json_response(200, insight::as_line(Json{{"pattern", insight::to_string(pattern)},
                                                  {"heads", insight::to_json(found, std::ssize(found))}}));
}

Response patterns(RecordingStore& store, const RoutedRequest& request) {
  static_cast<void>(store);
  request.allow({});
  Json names = Json::array();
  for (const std::string_view name : insight::pattern_names()) names.push_back(std::string(name));
  return json_response(200, insight::as_line(Json{{"patterns", std::move(names)}}));
}

}  // namespace attn::server
