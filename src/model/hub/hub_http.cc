#include "model/hub/hub_http.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <utility>

#include "base/one_line.h"

namespace attn::model {

namespace {

constexpr long kBuffer = 256 * 1024;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

class Url {
 public:
  explicit Url(const std::string& text) : url_(curl_url()) { set(text); }
  void set(const std::string& text) {
    valid_ = url_ != nullptr && curl_url_set(url_.get(), CURLUPART_URL, text.c_str(), 0) == CURLUE_OK;
  }
  [[nodiscard]] bool valid() const noexcept { return valid_; }
  [[nodiscard]] std::string part(CURLUPart which) const {
    char* text = nullptr;
    if (!valid_ || curl_url_get(url_.get(), which, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return {};
    std::string copy = text;
    curl_free(text);
    return copy;
  }

 private:
  struct Free {
    void operator()(CURLU* url) const noexcept { curl_url_cleanup(url); }
  };
  std::unique_ptr<CURLU, Free> url_;
  bool valid_ = false;
};

void start_curl() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK)
    throw std::runtime_error(std::string("libcurl failed to start: ") + curl_easy_strerror(started));
}

}  // namespace

struct HttpClient::Handle {
  struct Free {
    void operator()(CURL* owned) const noexcept { curl_easy_cleanup(owned); }
  };
  std::unique_ptr<CURL, Free> curl;
};

// State for libcurl's callbacks. Exceptions must not cross libcurl: they are stored and rethrown afterwards.
struct HttpClient::Exchange {
  using Clock = std::chrono::steady_clock;
  class HeaderList {
   public:
    void add(const std::string& line) {
      curl_slist* longer = curl_slist_append(list_.get(), line.c_str());
      if (longer == nullptr) throw std::bad_alloc();
      (void)list_.release();
      list_.reset(longer);
    }
    [[nodiscard]] curl_slist* get() const noexcept { return list_.get(); }

   private:
    struct Free {
      void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
    };
    std::unique_ptr<curl_slist, Free> list_;
  };

  HttpAnswer answer;
  const Sink* sink = nullptr;  // null: HEAD
  const HttpSettings* settings = nullptr;
  HeaderList headers;
  std::array<char, CURL_ERROR_SIZE> words{};
  std::exception_ptr thrown;
  Clock::time_point last = Clock::now();  // when data last arrived
  bool stalled = false;

  template <class Work>
  bool guarded(const Work& work) noexcept {
    try {
      return work();
    } catch (...) {
      thrown = std::current_exception();
      return false;
    }
  }

  static std::size_t on_header(const char* data, std::size_t one, std::size_t count, void* self) {
    auto& x = *static_cast<Exchange*>(self);
    const std::string_view line(data, one * count);
    x.last = Clock::now();
    return x.guarded([&] { return x.take_header(line), true; }) ? line.size() : 0;
  }
  static std::size_t on_body(const char* data, std::size_t one, std::size_t count, void* self) {
    auto& x = *static_cast<Exchange*>(self);
    const std::string_view piece(data, one * count);
    x.last = Clock::now();
    const bool wanted = x.answer.status == 200 || x.answer.status == 206;
    if (!wanted || x.sink == nullptr) return piece.size();
    return x.guarded([&] { return (*x.sink)(x.answer, piece); }) ? piece.size() : 0;
  }
  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    auto& x = *static_cast<Exchange*>(self);
    // libcurl's own limit averages over five seconds. Before the response begins, allow for the time to connect as
    // well.
    x.stalled = Clock::now() - x.last > x.settings->timeout * (x.answer.status == 0 ? 2 : 1);
    if (x.stalled) return 1;
    if (!x.settings->pulse) return 0;
    return x.guarded([&] { return x.settings->pulse(), true; }) ? 0 : 1;
  }

  void take_header(std::string_view line) {
    if (line.starts_with("HTTP/")) {  // a response begins; after 100 Continue, a second one
      answer.headers.clear();
      const auto space = line.find(' ');
      answer.status = space == std::string_view::npos ? 0 : std::atoi(std::string(line.substr(space)).c_str());
      return;
    }
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return;
    std::string name = trimmed(line.substr(0, colon));
    std::ranges::transform(name, name.begin(), lower);
    answer.headers[name] = trimmed(line.substr(colon + 1));
  }
};

std::string HttpAnswer::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

bool HttpAnswer::is_redirect() const {
  return (status == 301 || status == 302 || status == 303 || status == 307 || status == 308) &&
         headers.contains("location");
}

HttpClient::HttpClient(HttpSettings settings) : settings_(std::move(settings)), handle_(std::make_unique<Handle>()) {
  start_curl();
  handle_->curl.reset(curl_easy_init());
  if (handle_->curl == nullptr) throw std::bad_alloc();
}

HttpClient::~HttpClient() = default;

HttpAnswer HttpClient::head(const std::string& url) { return exchange(url, 0, nullptr); }

HttpAnswer HttpClient::get(const std::string& url, std::int64_t from, const Sink& sink) {
  HttpAnswer answer = exchange(url, from, &sink);
  for (int i = 0; answer.is_redirect(); ++i) {
    const std::string next = target(answer);
    if (next.empty() || i == kMostRedirects) {
      answer.failure = "redirected to " + base::one_line(answer.header("location")) + ", " +
                       (next.empty() ? "which this program does not follow" : "after too many other redirects");
      return answer;
    }
    answer = exchange(next, from, &sink);
  }
  return answer;
}

bool HttpClient::is_home(const std::string& url) const {
  const Url home(settings_.home), there(url);
  if (!home.valid() || !there.valid()) return false;
  std::string ours = home.part(CURLUPART_HOST), theirs = there.part(CURLUPART_HOST);
  std::ranges::transform(ours, ours.begin(), lower);
  std::ranges::transform(theirs, theirs.begin(), lower);
  if (ours != theirs) return false;
  const auto door = [](const Url& u) { return u.part(CURLUPART_SCHEME) + ":" + u.part(CURLUPART_PORT); };
  return door(home) == door(there) || (door(home) == "http:80" && door(there) == "https:443");
}

std::string HttpClient::target(const HttpAnswer& redirect) {
  Url url(redirect.url);
  const bool was_https = url.part(CURLUPART_SCHEME) == "https";
  url.set(redirect.header("location"));
  const std::string scheme = url.part(CURLUPART_SCHEME);
  if (scheme != "https" && (scheme != "http" || was_https)) return {};
  return url.part(CURLUPART_URL);
}

void HttpClient::prepare(Exchange& exchange) {
  CURL* curl = handle_->curl.get();
  curl_easy_reset(curl);  // resets options only; connections stay open
  // A compressed response would have neither the length nor the hash that we check.
  exchange.headers.add("Accept-Encoding: identity");
  if (!settings_.token.empty() && is_home(exchange.answer.url))
    exchange.headers.add("Authorization: Bearer " + settings_.token);
  curl_easy_setopt(curl, CURLOPT_URL, exchange.answer.url.c_str());
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "attnscope");
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, kBuffer);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(settings_.timeout.count()));
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, exchange.words.data());
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &Exchange::on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Exchange::on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &Exchange::on_progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &exchange);
  if (exchange.sink == nullptr) curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  // Corporate proxies that inspect TLS publish their certificate this way; Python's tools honour it, too.
  if (const char* file = std::getenv("SSL_CERT_FILE"); file != nullptr && *file != '\0')
    curl_easy_setopt(curl, CURLOPT_CAINFO, file);
}

HttpAnswer HttpClient::exchange(const std::string& url, std::int64_t from, const Sink* sink) {
  Exchange exchange;
  exchange.answer.url = url;
  exchange.sink = sink;
  exchange.settings = &settings_;
  if (from > 0) exchange.headers.add("Range: bytes=" + std::to_string(from) + "-");
  prepare(exchange);
  curl_easy_setopt(handle_->curl.get(), CURLOPT_HTTPHEADER, exchange.headers.get());
  const CURLcode code = curl_easy_perform(handle_->curl.get());
  curl_easy_reset(handle_->curl.get());  // it must not keep pointers to locals
  if (exchange.thrown) std::rethrow_exception(exchange.thrown);
  if (exchange.answer.status != 0) reached_ = true;
  if (exchange.stalled)
    exchange.answer.failure = "no data arrived for " + std::to_string(settings_.timeout.count()) + " ms";
  else if (code != CURLE_OK)
    exchange.answer.failure = exchange.words[0] != '\0' ? trimmed(exchange.words.data()) : curl_easy_strerror(code);
  exchange.answer.no_certificates = code == CURLE_SSL_CACERT_BADFILE;
  return std::move(exchange.answer);
}

std::string url_escaped(std::string_view text) {
  if (text.empty()) return {};  // libcurl would take a length of 0 for "until the zero"
  char* escaped = curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size()));
  if (escaped == nullptr) throw std::bad_alloc();
  std::string copy = escaped;
  curl_free(escaped);
  return copy;
}

}  // namespace attn::model
