// server/http/guard.h - which requests are accepted, and the security headers of every response.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn::server {

// Headers and path of a request; empty if absent.
struct RequestOrigin {
  std::string host = {}, origin = {}, fetch_site = {}, path = {};
};

// Why a request is refused; empty if it is accepted. Host must be this machine, so that a foreign name that resolves to
// it does not get through (DNS rebinding). Origin, if present, must be the page's own, and a browser that fetches for a
// page of another site gets nothing from /api.
std::string refusal(const RequestOrigin& from);

// Headers of every response.
std::vector<std::pair<std::string, std::string>> safe_headers();
// The value of Cache-Control: browsers keep nothing of the API, and files with a hash in their name forever.
const char* caching_of(std::string_view path, int status);

}  // namespace attn::server
