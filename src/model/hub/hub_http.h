// model/hub/hub_http.h - HTTP over libcurl, as the hub needs it: follows redirects step by step and keeps the token at
// home.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace attn::model {

inline constexpr int kMostRedirects = 10;

struct HttpAnswer {
  int status = 0;                              // 0: no response
  std::map<std::string, std::string> headers;  // names in lower case
  std::string url;                             // of this response
  std::string failure;                         // why the response is missing or incomplete; empty: complete
  bool no_certificates = false;  // no response, because this machine has no certificates to verify the server

  [[nodiscard]] std::string header(const std::string& name) const;  // empty: missing
  [[nodiscard]] bool is_redirect() const;
};

struct HttpSettings {
  std::string home;   // the only scheme, host and port that the token is sent to
  std::string token;  // empty: none
  std::chrono::milliseconds timeout{10'000};
  std::function<void()> pulse;  // called at least once a second; an exception ends the exchange and propagates
};

// Not thread-safe. Connections are kept open and reused.
class HttpClient {
 public:
  // Receives each piece of a body with status 200 or 206, and the response's head. Returning false ends the exchange;
  // an exception propagates.
  using Sink = std::function<bool(const HttpAnswer& head, std::string_view piece)>;

  explicit HttpClient(HttpSettings settings);
  ~HttpClient();

  // The first response; does not follow redirects.
  HttpAnswer head(const std::string& url);
  // Follows redirects, except from https to http. from > 0 requests only the bytes from that offset on.
  HttpAnswer get(const std::string& url, std::int64_t from, const Sink& sink);

  // Whether url has the scheme, host and port of home. http to https on the same host counts as home.
  [[nodiscard]] bool is_home(const std::string& url) const;
  // Absolute target of a redirect; empty if we would not follow it.
  [[nodiscard]] static std::string target(const HttpAnswer& redirect);
  // Whether any server has ever responded.
  [[nodiscard]] bool reached() const noexcept { return reached_; }

 private:
  struct Exchange;
  struct Handle;

  HttpAnswer exchange(const std::string& url, std::int64_t from, const Sink* sink);
  void prepare(Exchange& exchange);

  HttpSettings settings_;
  std::unique_ptr<Handle> handle_;
  bool reached_ = false;
};

// Escapes one part of a URL: everything but letters, digits and -._~ becomes %XX.
std::string url_escaped(std::string_view text);

}  // namespace attn::model
