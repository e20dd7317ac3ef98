// server/http/response.h - an HTTP response: bytes with a status, independent of sockets.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/store/byte_cache.h"

namespace attn::server {

inline constexpr const char* kJson = "application/json; charset=utf-8";

// Writes the next part of a body; throws Cancelled once the client has left.
using Write = std::function<void(std::string_view)>;

struct Response {
  int status = 200;
  std::string type;  // Content-Type
  Bytes body;
  Bytes packed = {};                                              // the body gzipped; null: not compressed
  std::vector<std::pair<std::string, std::string>> headers = {};  // additional headers: {"X-Shape", "44,256"}
  std::function<void(const Write&)> pour = {};                    // writes a body that is too large for `body`
};

Response json_response(int status, std::string json);
// {"error": "one line"}
Response error_response(int status, const std::string& what);
// The JSON of an error response with its status added.
std::string with_status(const Response& error);
// application/octet-stream
Response octets(Bytes bytes);
// A response that a browser saves under this name, which must be ASCII without quotes.
Response download(std::string type, const std::string& name, Bytes bytes);

Bytes shared(std::string bytes);

}  // namespace attn::server
