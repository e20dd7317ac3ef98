// server/http/response.h - what goes back to whoever asked: bytes with a status; no sockets.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/store/byte_cache.h"

namespace attn::server {

inline constexpr const char* kJson = "application/json; charset=utf-8";

// Takes the next part of a body; throws Cancelled when nobody reads it any more.
using Write = std::function<void(std::string_view)>;

struct Response {
  int status = 200;
  std::string type;  // Content-Type
  Bytes body;
  Bytes packed = {};                                              // the same gzipped; null: it is not
  std::vector<std::pair<std::string, std::string>> headers = {};  // further ones: {"X-Shape", "44,256"}
  std::function<void(const Write&)> pour = {};                    // writes what is too large to lie in `body`
};

Response json_response(int status, std::string json);
// {"error": "one line"}
Response error_response(int status, const std::string& what);
// An error's JSON with its status besides.
std::string with_status(const Response& error);
// application/octet-stream
Response octets(Bytes bytes);
// One that a browser saves under this name, which must be plain ASCII without quotes.
Response download(std::string type, const std::string& name, Bytes bytes);

Bytes shared(std::string bytes);

}  // namespace attn::server
