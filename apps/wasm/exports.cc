// apps/wasm/exports.cc - what the module exports to its host, a Worker of the page: memory, a start, and requests to
// the same server::Api that HTTP reaches elsewhere. docs/web-app.md describes the host's side.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "attn/thread_pool.h"
#include "base/json_file.h"
#include "base/read_file.h"
#include "builtin/models.h"
#include "server/routes/api.h"

// What the host does for the module.
extern "C" {
[[clang::import_module("host"), clang::import_name("head")]] void attn_host_head(const char* json, std::size_t bytes);
[[clang::import_module("host"), clang::import_name("write")]] void attn_host_write(const char* data, std::size_t bytes);
[[clang::import_module("host"), clang::import_name("event")]] void attn_host_event(const char* name,
                                                                                   std::size_t name_bytes,
                                                                                   const char* json, std::size_t bytes);
}

namespace attn::wasm {

namespace {

using server::Response;
using Json = nlohmann::json;

std::unique_ptr<server::RecordingStore> store;

std::shared_ptr<ThreadPool> pool() {
  static const auto one = std::make_shared<ThreadPool>(1);
  return one;
}

// Passes a response to the host: its head, then its body in one part or several.
void send(const Response& response) {
  Json headers = Json::array({Json::array({"Content-Type", response.type})});
  for (const auto& [name, value] : response.headers) headers.push_back({name, value});
  const std::string head = Json{{"status", response.status}, {"headers", headers}}.dump();
  attn_host_head(head.data(), head.size());
  if (response.pour) {
    response.pour([](std::string_view part) { attn_host_write(part.data(), part.size()); });
  } else if (response.body) {
    attn_host_write(response.body->data(), response.body->size());
  }
}

// Runs `work`, whose response is sent. An error becomes a response, too, unless a part of one has been sent already.
template <typename Work>
void answer(const Work& work) {
  Response response;
  try {
    response = work();
  } catch (const std::bad_alloc&) {
    response = server::error_response(500, "out of memory");
  } catch (const std::exception& wrong) {
    response = server::error_response(400, wrong.what());
  }
  send(response);
}

server::StoreOptions options_of(const Json& settings) {
  server::ModelList models;
  for (const Json& name : settings.at("models"))
    models.add(name.get<std::string>(), builtin::folder_of(name.get<std::string>()), false);
  return {.models = models.take(),
          .memory = settings.at("memory").get<std::int64_t>(),
          .first_id = settings.value("first_id", std::int64_t{1})};
}

Response start(std::string_view json) {
  const Json settings = base::parse_json(json, "the settings");
  store =
      std::make_unique<server::RecordingStore>(pool, settings.at("cache").get<std::int64_t>(), options_of(settings));
  store->show_on(base::read_file("/page/offline.html"));
  return server::json_response(200, "{}");
}

Response request(std::string_view json, std::string body) {
  const Json asked = base::parse_json(json, "the request");
  server::Request request{.method = asked.at("method").get<std::string>(),
                          .path = asked.at("path").get<std::string>(),
                          .query = asked.at("query").get<server::Query>(),
                          .body = std::move(body)};
  server::Client client;
  if (asked.value("events", false) && server::Api::streams(request))
    client.tell = [](std::string_view event, const std::string& told) {
      attn_host_event(event.data(), event.size(), told.data(), told.size());
    };
  return server::Api(*store).response(request, client);
}

}  // namespace

extern "C" {

[[clang::export_name("attn_allocate")]] void* attn_allocate(std::size_t bytes) {
  return std::malloc(bytes == 0 ? 1 : bytes);
}
[[clang::export_name("attn_free")]] void attn_free(void* block) { std::free(block); }

[[clang::export_name("attn_start")]] void attn_start(const char* json, std::size_t bytes) {
  answer([&] { return start({json, bytes}); });
}

[[clang::export_name("attn_request")]] void attn_request(const char* json, std::size_t bytes, const char* body,
                                                         std::size_t body_bytes) {
  answer([&] { return request({json, bytes}, std::string(body, body_bytes)); });
}

}  // extern "C"

}  // namespace attn::wasm
