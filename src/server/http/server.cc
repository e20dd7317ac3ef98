#include "server/http/server.h"

#include <httplib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/heap.h"
#include "engine/runtime/process.h"
#include "server/http/connections.h"
#include "server/http/guard.h"
#include "server/http/request_stream.h"
#include "server/http/workers.h"
#include "server/routes/api.h"

namespace attn::server {

namespace {

bool takes_gzip(const httplib::Request& http_request) {
  return http_request.get_header_value("Accept-Encoding").find("gzip") != std::string::npos;
}

void set_head(const httplib::Request& http_request, const Response& response, httplib::Response& http_response) {
  http_response.status = response.status;
  http_response.set_header("Cache-Control", caching_of(http_request.path, response.status));
  if (response.status == 405)
    http_response.set_header("Allow", http_request.path.starts_with("/api/") ? "GET, HEAD, POST, PUT" : "GET, HEAD");
  for (const auto& [name, value] : response.headers) http_response.set_header(name, value);
}

// Uses a content provider: httplib would compress a plain body again, with brotli at its slowest level if the client
// accepts it.
void send(const httplib::Request& http_request, const Response& response, httplib::Response& http_response) {
  set_head(http_request, response, http_response);
  const bool packed = response.packed && takes_gzip(http_request);
  if (response.packed) http_response.set_header("Vary", "Accept-Encoding");
  if (packed) http_response.set_header("Content-Encoding", "gzip");
  const Bytes body = packed ? response.packed : response.body;
  if (body->empty()) return http_response.set_content("", response.type);
  http_response.set_content_provider(body->size(), response.type,
                                     [body](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
                                       return sink.write(body->data() + offset, length);
                                     });
}

bool takes_events(const httplib::Request& http_request) {
  return http_request.get_header_value("Accept").find("text/event-stream") != std::string::npos;
}

bool is_json(const std::string& type) { return type.substr(0, type.find(';')) == "application/json"; }

// The error response to a POST that is not JSON, or a PUT that is not bytes; null if the request is fine. No other site
// can send either of these types without asking first.
const Response* wrong_type(const httplib::Request& http_request) {
  static const Response post = error_response(415, "the Content-Type of a POST must be application/json");
  static const Response put = error_response(415, "the Content-Type of a PUT must be application/octet-stream");
  const std::string type = http_request.get_header_value("Content-Type");
  if (http_request.method == "POST" && !is_json(type)) return &post;
  return http_request.method == "PUT" && type != "application/octet-stream" ? &put : nullptr;
}

}  // namespace

// The HTTP library without its sockets: it parses headers that the gate has written anew, and writes responses.
class Http final : public httplib::Server {
 public:
  Http() { svr_sock_ = 0; }  // otherwise it would take itself for stopped, and send no body
  void stop_sending() { svr_sock_ = INVALID_SOCKET; }

  // Returns whether the connection may serve another request.
  bool answer(RequestStream& stream, std::string& body) {
    bool closed = false;
    const auto with_body = [&](httplib::Request& http_request) { http_request.body = std::move(body); };
    return process_request(stream, false, closed, with_body) && !closed;
  }
};

struct Server::State : std::enable_shared_from_this<Server::State> {
  explicit State(ServerOptions options)
      : page(std::move(options.page)),
        store(std::move(options.pool), std::min(options.cache_bytes, options.store.memory / 4),
              std::move(options.store)),
        limits(options.connections) {
    store.show_on(page.offline());
    store.offer_app(page.offers_app());
  }

  PageFiles page;
  RecordingStore store;
  ConnectionLimits limits;
  Http http;
  Workers workers;
  std::optional<Connections> connections;
  std::thread reader;
  const pid_t process = getpid();
  int port = 0;
  std::atomic<bool> stopping = false;
  std::mutex mutex;
  std::condition_variable quiet;
  int busy = 0;                 // number of requests being handled
  std::shared_ptr<State> kept;  // refers to itself if it must not be destroyed

  // Counts a request as being handled while it exists.
  class Busy {
   public:
    explicit Busy(State& state) : state_(state) {
      const std::scoped_lock lock(state_.mutex);
      ++state_.busy;
    }
    ~Busy() {
      const std::scoped_lock lock(state_.mutex);
      if (--state_.busy == 0) state_.quiet.notify_all();
    }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    State& state_;
  };

  void prepare();
  void bind(std::optional<int> request);
  bool answer(WholeRequest& request, int socket);
  void guarded(const httplib::Request& http_request, httplib::Response& http_response);
  void handle(const httplib::Request& http_request, httplib::Response& http_response);
  void stream(Request http_request, httplib::Response& http_response);
  void send_or_pour(const httplib::Request& http_request, Response response, httplib::Response& http_response);
  void pour(Response response, httplib::Response& http_response);
  void listen();
  void stop();
};

void Server::State::handle(const httplib::Request& http_request, httplib::Response& http_response) {
  if (!http_request.path.starts_with("/api/"))
    return send_or_pour(http_request, page.response(http_request.path), http_response);
  Request request{.method = http_request.method == "HEAD" ? "GET" : http_request.method,
                  .path = http_request.path,
                  .body = http_request.body};
  for (const auto& [name, value] : http_request.params) request.query.emplace(name, value);
  if (takes_events(http_request) && Api::streams(request)) return stream(std::move(request), http_response);
  const Busy now(*this);
  Response response = Api(store).response(request, {.waits = [this] { return !stopping; }});
  send_or_pour(http_request, std::move(response), http_response);
}

void Server::State::send_or_pour(const httplib::Request& http_request, Response response,
                                 httplib::Response& http_response) {
  if (!response.pour) return send(http_request, response, http_response);
  set_head(http_request, response, http_response);
  pour(std::move(response), http_response);
}

// Works while writing the events, because httplib only then knows whether the client is still connected.
void Server::State::stream(Request http_request, httplib::Response& http_response) {
  http_response.set_header("Cache-Control", "no-store");
  http_response.set_chunked_content_provider(
      "text/event-stream", [this, http_request = std::move(http_request)](std::size_t, httplib::DataSink& sink) {
        const Busy now(*this);
        const auto tell = [&](std::string_view event, std::string json) {
          while (json.ends_with('\n')) json.pop_back();
          const std::string text = "event: " + std::string(event) + "\ndata: " + json + "\n\n";
          if (!sink.write(text.data(), text.size())) throw Cancelled();
        };
        const Client client{.waits = [&] { return !stopping && sink.is_writable(); }, .tell = tell};
        const Response response = Api(store).response(http_request, client);
        try {
          response.status == 200 ? tell("answer", *response.body) : tell("error", with_status(response));
        } catch (const Cancelled&) {
          return false;
        }
        sink.done();
        return true;
      });
}

void Server::State::pour(Response response, httplib::Response& http_response) {
  const std::string type = response.type;
  http_response.set_chunked_content_provider(
      type, [this, response = std::move(response)](std::size_t, httplib::DataSink& sink) {
        const Busy now(*this);
        const auto write = [&](std::string_view part) {
          if (stopping || !sink.write(part.data(), part.size())) throw Cancelled();
        };
        try {
          response.pour(write);
        } catch (...) {  // closes the connection early, so that the client notices the missing part
          return false;
        }
        sink.done();
        return true;
      });
}

// The gate has already refused other hosts and sites, but by the path as it was sent: here it is decoded.
void Server::State::guarded(const httplib::Request& http_request, httplib::Response& http_response) {
  const RequestOrigin origin{http_request.get_header_value("Host"), http_request.get_header_value("Origin"),
                             http_request.get_header_value("Sec-Fetch-Site"), http_request.path};
  if (const std::string wrong = refusal(origin); !wrong.empty()) {
    send(http_request, error_response(403, wrong), http_response);
  } else if (http_request.method != "GET" && http_request.method != "HEAD" &&
             ((http_request.method != "POST" && http_request.method != "PUT") ||
              !http_request.path.starts_with("/api/"))) {
    send(http_request, error_response(405, http_request.method + " is not allowed here, only GET"), http_response);
  } else if (const Response* const unfit = wrong_type(http_request); unfit != nullptr) {
    send(http_request, *unfit, http_response);
  } else {
    handle(http_request, http_response);
  }
}

void Server::State::prepare() {
  http.set_keep_alive_timeout(std::chrono::duration_cast<std::chrono::seconds>(limits.idle).count());
  http.set_keep_alive_max_count(10'000);
  httplib::Headers headers;
  for (const auto& [name, value] : safe_headers()) headers.emplace(name, value);
  http.set_default_headers(std::move(headers));
  // For requests that httplib rejects itself.
  http.set_error_handler([](const httplib::Request& http_request, httplib::Response& http_response) {
    if (http_response.has_header("Cache-Control")) return;
    send(http_request, error_response(http_response.status, "this request cannot be handled"), http_response);
  });
  // Before routing, because httplib's routes are regular expressions, which recurse once per letter of the path.
  http.set_pre_routing_handler([this](const httplib::Request& http_request, httplib::Response& http_response) {
    guarded(http_request, http_response);
    return httplib::Server::HandlerResponse::Handled;
  });
}

bool Server::State::answer(WholeRequest& request, int socket) {
  RequestStream stream(std::move(request.header), socket, [this] { return stopping || workers.crowded(); });
  bool stays = false;
  try {
    stays = http.answer(stream, request.body);
  } catch (...) {  // NOLINT(bugprone-empty-catch): out of memory, so the client gets no response
  }
  base::trim_heap();
  return stays;
}

void Server::State::bind(std::optional<int> request) {
  constexpr int kTries = 100;
  const int first = request.value_or(kDefaultPort);
  int listener = listening_socket(first);
  for (int next = first + 1; listener < 0 && !request && next < first + kTries; ++next)
    listener = listening_socket(next);
  if (listener < 0 && !request) listener = listening_socket(0);
  if (listener < 0)
    throw std::runtime_error("port " + std::to_string(first) +
                             " cannot be used: another program has it, or it needs more privileges");
  port = port_of(listener);
  connections.emplace(
      listener, limits, [this](std::function<void()> work) { workers.enqueue(std::move(work)); },
      [weak = weak_from_this()](WholeRequest& whole, int socket) {
        const std::shared_ptr<State> self = weak.lock();
        return self && self->answer(whole, socket);
      });
}

// The reader and the worker threads that it starts leave signals to the program's own threads.
void Server::State::listen() {
  const SignalsBlocked blocked;
  reader = std::thread([this] { connections->run(); });
}

void Server::State::stop() {
  if (stopping.exchange(true)) return;
  http.stop_sending();
  if (connections) connections->stop();
  if (reader.joinable()) reader.join();
  workers.shutdown();
  std::unique_lock lock(mutex);
  quiet.wait_for(lock, std::chrono::milliseconds(800), [&] { return busy == 0; });
  store.files().clear();
}

Server::Server(ServerOptions options) {
  const std::optional<int> port = options.port;
  state_ = std::make_shared<State>(std::move(options));
  state_->prepare();
  state_->bind(port);
  state_->listen();
}

// A forked child has neither the threads nor its own socket: it leaves the state to the parent and never destroys it.
Server::~Server() {
  stop();
  if (state_->process != getpid()) state_->kept = state_;
}

void Server::stop() {
  if (state_->process == getpid()) state_->stop();
}
std::string Server::add(std::string name, const std::shared_ptr<const insight::AttentionTables>& tables,
                        const base::Progress& progress) {
  return state_->store.add(std::move(name), tables, progress);
}
int Server::port() const noexcept { return state_->port; }
std::string Server::url() const { return "http://127.0.0.1:" + std::to_string(port()) + "/"; }
std::string Server::make(RecordRequest record_request, const base::Progress& progress) {
  return state_->store.make({.record_request = std::move(record_request), .progress = progress, .stays = true});
}
std::shared_ptr<const StoredRecording> Server::find(const std::string& id) const { return state_->store.find(id); }
int Server::working() const { return state_->store.working(); }
std::int64_t Server::cached_bytes() const { return state_->store.cache().bytes(); }

}  // namespace attn::server
