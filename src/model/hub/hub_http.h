// model/hub/hub_http.h - HTTP as the hub needs it, over libcurl: redirects one by one, and a token that stays at home.
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
  int status = 0;                              // 0: none came
  std::map<std::string, std::string> headers;  // names in lower case
  std::string url;                             // that gave this answer
  std::string failure;                         // why nothing came, or not all of it; empty: all is here
  bool no_certificates = false;                // nothing came, since this machine has none to check a server's by

  [[nodiscard]] std::string header(const std::string& name) const;  // empty: not there
  [[nodiscard]] bool is_redirect() const;
};

struct HttpSettings {
  std::string home;   // the token is sent to this scheme, host and port alone
  std::string token;  // empty: none
  std::chrono::milliseconds timeout{10'000};
  std::function<void()> pulse;  // called at least once a second; what it throws ends the exchange and comes out of it
};

// One thread at a time. Connections are kept and used again.
class HttpClient {
 public:
  // Called with every piece of a body that comes with status 200 or 206, and with what its head said. False ends the
  // exchange; what it throws also comes out of it.
  using Sink = std::function<bool(const HttpAnswer& head, std::string_view piece)>;

  explicit HttpClient(HttpSettings settings);
  ~HttpClient();

  // What the very first answer says; a redirect is not followed.
  HttpAnswer head(const std::string& url);
  // Follows redirects, except from https to http. from > 0 asks for the rest of a file alone.
  HttpAnswer get(const std::string& url, std::int64_t from, const Sink& sink);

  // Whether home, that is its scheme, host and port, is where url leads. From http to https of the same host counts.
  [[nodiscard]] bool is_home(const std::string& url) const;
  // Where a redirect leads, also if it says so relative to the page that gave it; empty if nowhere we would go.
  [[nodiscard]] static std::string target(const HttpAnswer& redirect);
  // Whether anybody has ever answered.
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

// For one part of a URL: everything but letters, digits and -._~ is written as %XX.
std::string url_escaped(std::string_view text);

}  // namespace attn::model
