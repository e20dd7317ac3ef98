#include "server/http/guard.h"

#include <algorithm>

#include "server/http/page_files.h"

namespace attn::server {

namespace {

// Everything comes from the server itself. Scripts and the page's markup set styles of single elements; the drawing
// worker and downloads are blobs. Notebooks on this machine may frame the page.
constexpr const char* kContentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data: "
    "blob:; font-src 'self'; connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self' http://127.0.0.1:* http://localhost:* vscode-webview:";

// Ignores the port, because a forwarded port has another number on the other side.
bool is_this_machine(std::string_view host) {
  const std::size_t colon = host.find(':');
  const std::string_view name = host.substr(0, colon);
  if (name != "127.0.0.1" && name != "localhost") return false;
  if (colon == std::string_view::npos) return true;
  const std::string_view port = host.substr(colon + 1);
  return !port.empty() && std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string refusal(const RequestOrigin& from) {
  if (!is_this_machine(from.host)) return "the Host must be 127.0.0.1 or localhost";
  if (!from.origin.empty() && from.origin != "http://" + from.host) return "requests from other sites are refused";
  const bool own = from.fetch_site.empty() || from.fetch_site == "same-origin" || from.fetch_site == "none";
  if (!own && from.path.starts_with("/api/")) return "requests from other sites are refused";
  return {};
}

const char* caching_of(std::string_view path, int status) {
  if (path.starts_with("/api/") || status != 200) return "no-store";
  return is_hashed(path) ? "public, max-age=31536000, immutable" : "no-cache";
}

std::vector<std::pair<std::string, std::string>> safe_headers() {
  return {{"Content-Security-Policy", kContentSecurityPolicy},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cross-Origin-Opener-Policy", "same-origin"}};
}

}  // namespace attn::server
