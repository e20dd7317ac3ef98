// server/routes/mask.cc - parses a mask and describes it for a given number of queries and keys.
#include "server/routes/mask.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "attn/tile_plan.h"
#include "base/markup.h"
#include "insight/io/json.h"
#include "insight/statistics/mask_facts.h"
#include "server/jobs/record_request.h"
#include "server/routes/record_request_json.h"

namespace attn::server {

namespace {

constexpr std::int64_t kMostRows = 512, kMostCells = 256;

std::int64_t size_of(const BodyJson& object, const char* name) {
  const BodyJson given = object.contains(name) ? object[name] : BodyJson();
  if (!given.is_number_integer() || given.get<std::int64_t>() < 1 || given.get<std::int64_t>() > kMostTokens)
    throw std::invalid_argument(std::string(name) + " must be a whole number from 1 to " + std::to_string(kMostTokens));
  return given.get<std::int64_t>();
}

// One string per query, such as "110": whether it may see each key.
Json rows_json(const Mask& mask, std::int64_t queries, std::int64_t keys) {
  if (queries > kMostRows || keys > kMostRows) return nullptr;
  Json rows = Json::array();
  const std::vector<bool> seen = insight::seen_pairs(mask, queries, keys);
  for (std::int64_t i = 0; i < queries; ++i) {
    std::string row;
    for (std::int64_t j = 0; j < keys; ++j) row += seen[static_cast<std::size_t>(i * keys + j)] ? '1' : '0';
    rows.push_back(std::move(row));
  }
  return rows;
}

Json picture_json(const Mask& mask, std::int64_t queries, std::int64_t keys) {
  const nn::Matrix cells = insight::mask_picture(mask, queries, keys, kMostCells);
  std::string bytes;
  std::for_each_n(cells.data(), cells.rows() * cells.columns(),
                  [&](float share) { bytes.push_back(static_cast<char>(std::lround(255 * share))); });
  return {{"rows", cells.rows()}, {"columns", cells.columns()}, {"cells", base::base64(bytes)}};
}

Json tiles_json(const insight::MaskTiles& tiles) {
  return {{"rows", kTileRows},
          {"keys", kTileKeys},
          {"down", tiles.down},
          {"across", tiles.across},
          {"covers", tiles.covers ? Json(*tiles.covers) : Json(nullptr)},
          {"full", tiles.full},
          {"partial", tiles.partial},
          {"skipped", tiles.skipped}};
}

// The first line of the problem and its column; the other lines of the message draw the place.
Response wrong_text(const MaskTextError& wrong) {
  const std::string what = wrong.what();
  return json_response(400,
                       insight::as_line(Json{{"error", what.substr(0, what.find('\n'))}, {"column", wrong.column}}));
}

}  // namespace

Response mask(RecordingStore& store, const RoutedRequest& request) {
  static_cast<void>(store);
  request.allow({});
  const BodyJson object = parse_object(request.body);
  allow_members(object, {"text", "queries", "keys"}, "a mask");
  if (!object.contains("text") || !object["text"].is_string())
    throw std::invalid_argument("text must be a mask: \"causal & window(3)\"");
  const std::int64_t queries = size_of(object, "queries"), keys = size_of(object, "keys");
  try {
    const Mask mask = parse_mask(object["text"].get<std::string>());
    const insight::MaskFacts facts = insight::mask_facts(mask, queries, keys);
    return json_response(200, insight::as_line(Json{{"text", facts.text},
                                                    {"pairs", facts.pairs},
                                                    {"share", static_cast<float>(static_cast<double>(facts.pairs) /
                                                                                 static_cast<double>(queries * keys))},
                                                    {"rows", rows_json(mask, queries, keys)},
                                                    {"picture", picture_json(mask, queries, keys)},
                                                    {"tiles", tiles_json(facts.tiles)}}));
  } catch (const MaskTextError& wrong) {
    return wrong_text(wrong);
  }
}

}  // namespace attn::server
