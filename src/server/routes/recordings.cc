#include "server/routes/recordings.h"

#include <utility>

#include "insight/io/json.h"
#include "server/http/encode.h"
#include "server/routes/facts.h"
#include "server/routes/record_request_json.h"

namespace attn::server {

Response list(RecordingStore& store, const RoutedRequest& request) {
  request.allow({});
  Json all = Json::array();
  for (const auto& one : store.recordings())
    all.push_back({{"id", one->id()},
                   {"name", one->name()},
                   {"text", one->text()},
                   {"tokens", one->tokens()},
                   {"stays", one->provenance().stays}});
  // "specimens": its name in version 0.1.
  const Json json = {
      {"version", ATTNSCOPE_VERSION}, {"recordings", all}, {"specimens", all}, {"app", store.offers_app()}};
  return json_response(200, insight::as_line(json));
}

Response facts_of(RecordingStore& store, const RoutedRequest& request) {
  request.allow({"words"});
  const StoredTables& stored_tables = request.stored_tables();
  const HeadSummary& summary = stored_tables.summary(*store.pool(), request.progress());
  if (request.client.tell)
    return json_response(200, "{}");  // a client that read events asks again for the compressed facts
  const auto json = [&] { return insight::as_line(facts(*request.stored, stored_tables, summary)); };
  const std::string key = request.key();
  Response response{200, kJson, store.cache().get(key, json)};
  if (compresses_responses())
    response.packed = store.cache().get(key + "/gzip", [&] { return gzipped(*response.body); });
  return response;
}

Response thumbnails(RecordingStore& store, const RoutedRequest& request) {
  request.allow({"words", "kind"});
  const Kind kind = request.kind();
  const HeadSummary& summary = request.stored_tables().summary(*store.pool(), request.progress());
  // The summary lives as long as its recording does.
  return octets({request.stored, &summary.thumbnails.at(kind)});
}

Response models(RecordingStore& store, const RoutedRequest& request) {
  request.allow({});
  Json all = Json::array();
  for (const Models::Card& card : store.models().cards()) {
    all.push_back(model_facts(card.name, card.facts));
    all.back()["given"] = card.given;
  }
  const Json limits = {
      {"text_bytes", kMostText}, {"tokens", kMostTokens}, {"recordings", kMostMade}, {"specimens", kMostMade}};
  return json_response(200, insight::as_line(Json{{"models", std::move(all)}, {"limits", limits}}));
}

Response make_recording(RecordingStore& store, const RoutedRequest& request) {
  request.allow({});
  RecordingStore::Order order{.record_request = parse_record_request(request.body)};
  order.progress = request.progress(order.record_request.generate ? "token" : "layer");
  if (request.client.tell) {
    order.tell = [&](std::int64_t number, const GeneratedStep& step) {
      Json json = {{"step", number}};
      json.update(to_json(step));
      request.client.tell("token", insight::as_line(json));
    };
  }
  return json_response(200, insight::as_line(Json{{"id", store.make(order)}}));
}

}  // namespace attn::server
