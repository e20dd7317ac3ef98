// server/http/request.h - one parsed request: route, query and body, and the client that waits for the response.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.h"
#include "server/jobs/shared_task.h"
#include "server/store/stored_recording.h"

namespace attn::server {

// An error with a status other than 400, which std::invalid_argument stands for.
struct HttpError : std::runtime_error {
  HttpError(int its_status, const std::string& message) : std::runtime_error(message), status(its_status) {}
  int status;
};

// The client of a request.
struct Client {
  std::function<bool()> waits = [] { return true; };  // whether it still waits
  // Sends an event with a name and JSON if the response is a stream of events; else empty.
  std::function<void(std::string_view event, const std::string& json)> tell = {};
};

using Query = std::map<std::string, std::string>;

// A request that a route handles. The route first calls allow() with the parameters it takes.
struct RoutedRequest {
  std::string method = "GET";
  std::shared_ptr<const StoredRecording> stored;  // the recording in the path; null: none
  std::string segment = {};                       // of the path: a lesson's name, or the number of a folder
  std::string what;                               // the route's path, "/api/recordings/*/tile"
  Query query;
  std::string body = {};  // of a POST
  Client client = {};

  // The tables of the recording, between tokens or words as the query says.
  [[nodiscard]] const StoredTables& stored_tables() const { return stored->stored_tables(words()); }
  [[nodiscard]] const insight::AttentionTables& tables() const { return stored_tables().tables(); }
  // The response's key in the byte cache.
  [[nodiscard]] std::string key() const;

  // Progress of long work. Reports to the client, at most ten times per second, how many of the units `of` are done;
  // throws Cancelled once the client has left.
  [[nodiscard]] base::Progress progress(const char* of = "head") const;

  // ---- query parameters; all throw std::invalid_argument for a bad value ----

  void allow(std::initializer_list<const char*> names) const;
  [[nodiscard]] std::optional<std::string> text(const char* name) const;
  [[nodiscard]] std::int64_t number(const char* name) const;
  [[nodiscard]] std::int64_t number(const char* name, std::int64_t otherwise) const;
  [[nodiscard]] double real(const char* name, double otherwise) const;
  [[nodiscard]] bool flag(const char* name) const;                          // "1" is true; "0" or absent is false
  [[nodiscard]] std::vector<std::int64_t> numbers(const char* name) const;  // "0,3"; absent: none
  [[nodiscard]] bool words() const { return flag("words"); }
  [[nodiscard]] Kind kind_named() const;       // absent: self
  [[nodiscard]] Kind kind() const;             // one that the recording has
  [[nodiscard]] insight::HeadId head() const;  // one that the recording has
};

}  // namespace attn::server
