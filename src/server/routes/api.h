// server/routes/api.h - the HTTP API of the page (docs/page.md): requests in, responses out, independent of sockets.
#pragma once

#include <string>
#include <string_view>

#include "server/http/request.h"
#include "server/http/response.h"
#include "server/store/recording_store.h"

namespace attn::server {

// An HTTP request, independent of sockets.
struct Request {
  std::string method = "GET";  // HEAD counts as GET
  std::string path;            // starts with "/api/"
  Query query = {};
  std::string body = {};
};

class Api {
 public:
  explicit Api(RecordingStore& store) : store_(store) {}

  // Does not throw: an error is a response with a status other than 200. Long work checks now and then whether the
  // client still waits, and ends with status 503 if not.
  [[nodiscard]] Response response(const Request& request, const Client& client = {}) const;

  // Whether the response to such a request may be a stream of events.
  [[nodiscard]] static bool streams(const Request& request);

 private:
  RecordingStore& store_;
};

}  // namespace attn::server
