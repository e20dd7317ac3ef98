// server/http/guard.h - who may ask, and what every answer says to browsers.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn::server {

// As the request has them; empty: not there.
struct RequestOrigin {
  std::string host = {}, origin = {}, fetch_site = {}, path = {};
};

// Why a request is refused; empty: it is not. The Host must be this machine, so that no name that somebody else lets
// point here gets through (DNS rebinding). An RequestOrigin must be the page's own, and what a browser fetches for a
// page of another site gets nothing from /api.
std::string refusal(const RequestOrigin& from);

// Of every answer.
std::vector<std::pair<std::string, std::string>> safe_headers();
// Cache-Control: nothing of the API is kept by browsers, and what names its content for ever.
const char* caching_of(std::string_view path, int status);

}  // namespace attn::server
