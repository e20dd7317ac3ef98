// server/routes/api.h - what the page may ask, answered: requests in, bytes out; no sockets (docs/page.md).
#pragma once

#include <string>
#include <string_view>

#include "server/http/request.h"
#include "server/http/response.h"
#include "server/store/recording_store.h"

namespace attn::server {

// As it came, without what concerns only sockets.
struct Request {
  std::string method = "GET";  // HEAD is GET
  std::string path;            // from "/api/" on
  Query query = {};
  std::string body = {};
};

class Api {
 public:
  explicit Api(RecordingStore& store) : store_(store) {}

  // Throws nothing: what is wrong is an answer with another status than 200. Long work asks now and then whether
  // anybody waits, and ends with status 503 if not.
  [[nodiscard]] Response response(const Request& request, const Client& client = {}) const;

  // Whether the answer to such a request may come as a stream of events.
  [[nodiscard]] static bool streams(const Request& request);

 private:
  RecordingStore& store_;
};

}  // namespace attn::server
