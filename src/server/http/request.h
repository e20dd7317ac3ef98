// server/http/request.h - one question: its path, query and body, taken apart, and who waits for the answer.
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

// What cannot be answered, with another status than 400: that is std::invalid_argument's.
struct HttpError : std::runtime_error {
  HttpError(int its_status, const std::string& message) : std::runtime_error(message), status(its_status) {}
  int status;
};

// Whoever waits for an answer.
struct Client {
  std::function<bool()> waits = [] { return true; };
  // Takes an event, a name and JSON: of an answer that is a stream. Empty: it is none.
  std::function<void(std::string_view event, const std::string& json)> tell = {};
};

using Query = std::map<std::string, std::string>;

// What the query may hold is named by allow(): what else stands there is wrong.
struct RoutedRequest {
  std::string method = "GET";
  std::shared_ptr<const StoredRecording> stored;  // that it is about; null: about none
  std::string lesson = {};                        // the name of the one that it is about
  std::string what;                               // the route's path, "/api/specimens/*/tile"
  Query query;
  std::string body = {};  // of a POST
  Client client = {};

  // Of the exhibit, as tokens or as words.
  [[nodiscard]] const StoredTables& stored_tables() const { return stored->stored_tables(words()); }
  [[nodiscard]] const insight::AttentionTables& tables() const { return stored_tables().tables(); }
  // Under which what is asked is kept.
  [[nodiscard]] std::string key() const;

  // For long work. Tells whoever waits how far it is, "head" of heads, ten times a second at most; throws Cancelled
  // when nobody waits.
  [[nodiscard]] base::Progress progress(const char* of = "head") const;

  // ---- of the query; all throw std::invalid_argument for what cannot be ----

  void allow(std::initializer_list<const char*> names) const;
  [[nodiscard]] std::optional<std::string> text(const char* name) const;
  [[nodiscard]] std::int64_t number(const char* name) const;
  [[nodiscard]] std::int64_t number(const char* name, std::int64_t otherwise) const;
  [[nodiscard]] double real(const char* name, double otherwise) const;
  [[nodiscard]] bool flag(const char* name) const;                          // "1"; "0" or absent: not
  [[nodiscard]] std::vector<std::int64_t> numbers(const char* name) const;  // "0,3"; absent: none
  [[nodiscard]] bool words() const { return flag("words"); }
  [[nodiscard]] Kind kind_named() const;       // absent: self
  [[nodiscard]] Kind kind() const;             // that the specimen has
  [[nodiscard]] insight::HeadId head() const;  // likewise
};

}  // namespace attn::server
