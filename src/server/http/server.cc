#include "server/http/server.h"

#include <httplib.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <stdexcept>
#include <thread>
#include <utility>

#include "server/http/guard.h"
#include "server/http/workers.h"
#include "server/routes/api.h"

namespace attn::server {

namespace {

constexpr const char* kHost = "127.0.0.1";
constexpr std::size_t kMostBody = 2 << 20;

bool takes_gzip(const httplib::Request& request) {
  return request.get_header_value("Accept-Encoding").find("gzip") != std::string::npos;
}

void set_head(const httplib::Request& request, const Answer& answer, httplib::Response& response) {
  response.status = answer.status;
  response.set_header("Cache-Control", caching_of(request.path, answer.status));
  if (answer.status == 405)
    response.set_header("Allow", request.path.starts_with("/api/") ? "GET, HEAD, POST" : "GET, HEAD");
  for (const auto& [name, value] : answer.headers) response.set_header(name, value);
}

// Through a provider: httplib would pack a plain body once more, by brotli at its slowest where the client takes it.
void send(const httplib::Request& request, const Answer& answer, httplib::Response& response) {
  set_head(request, answer, response);
  const bool packed = answer.packed && takes_gzip(request);
  if (answer.packed) response.set_header("Vary", "Accept-Encoding");
  if (packed) response.set_header("Content-Encoding", "gzip");
  const Bytes body = packed ? answer.packed : answer.body;
  if (body->empty()) return response.set_content("", answer.type);
  response.set_content_provider(body->size(), answer.type,
                                [body](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
                                  return sink.write(body->data() + offset, length);
                                });
}

bool takes_events(const httplib::Request& request) {
  return request.get_header_value("Accept").find("text/event-stream") != std::string::npos;
}

bool is_json(const std::string& type) { return type.substr(0, type.find(';')) == "application/json"; }

// What a POST must be, besides what every request must. Null: it is.
const Answer* wrong_post(const httplib::Request& request) {
  static const Answer type = error_answer(415, "the Content-Type of a POST must be application/json");
  return request.method == "POST" && !is_json(request.get_header_value("Content-Type")) ? &type : nullptr;
}

}  // namespace

struct Server::State : std::enable_shared_from_this<Server::State> {
  explicit State(ServerOptions options)
      : page(std::move(options.page)), desk(std::move(options.pool), options.cache_bytes, std::move(options.stock)) {
    desk.show_on(page.offline());
  }

  PageFiles page;
  Desk desk;
  httplib::Server http;
  std::thread listener;
  const pid_t process = getpid();
  int port = 0, socket = -1;
  std::atomic<bool> stopping = false, ended = false;
  std::mutex mutex;
  std::condition_variable quiet;
  int busy = 0;                 // requests that are being answered
  std::shared_ptr<State> kept;  // itself, where it must not be destroyed

  // A request that is being answered.
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
  void bind(std::optional<int> asked);
  void handle(const httplib::Request& request, httplib::Response& response);
  void stream(Request request, httplib::Response& response);
  void pour(Answer answer, httplib::Response& response);
  void listen();
  void stop();
};

void Server::State::handle(const httplib::Request& request, httplib::Response& response) {
  if (!request.path.starts_with("/api/")) return send(request, page.answer(request.path), response);
  Request asked{
      .method = request.method == "HEAD" ? "GET" : request.method, .path = request.path, .body = request.body};
  for (const auto& [name, value] : request.params) asked.query.emplace(name, value);
  if (takes_events(request) && Api::streams(asked)) return stream(std::move(asked), response);
  const Busy now(*this);
  Answer answer = Api(desk).answer(asked, {.waits = [this] { return !stopping; }});
  if (!answer.pour) return send(request, answer, response);
  set_head(request, answer, response);
  pour(std::move(answer), response);
}

// The work is done while its events are written: that is when httplib can say whether the client is still there.
void Server::State::stream(Request request, httplib::Response& response) {
  response.set_header("Cache-Control", "no-store");
  response.set_chunked_content_provider(
      "text/event-stream", [this, request = std::move(request)](std::size_t, httplib::DataSink& sink) {
        const Busy now(*this);
        const auto tell = [&](std::string_view event, std::string json) {
          while (json.ends_with('\n')) json.pop_back();
          const std::string text = "event: " + std::string(event) + "\ndata: " + json + "\n\n";
          if (!sink.write(text.data(), text.size())) throw NotWanted();
        };
        const Asker asker{.waits = [&] { return !stopping && sink.is_writable(); }, .tell = tell};
        const Answer answer = Api(desk).answer(request, asker);
        try {
          answer.status == 200 ? tell("answer", *answer.body) : tell("error", with_status(answer));
        } catch (const NotWanted&) {
          return false;
        }
        sink.done();
        return true;
      });
}

void Server::State::pour(Answer answer, httplib::Response& response) {
  const std::string type = answer.type;
  response.set_chunked_content_provider(type, [this, answer = std::move(answer)](std::size_t, httplib::DataSink& sink) {
    const Busy now(*this);
    const auto write = [&](std::string_view part) {
      if (stopping || !sink.write(part.data(), part.size())) throw NotWanted();
    };
    try {
      answer.pour(write);
    } catch (...) {  // the connection is closed before the end: whoever reads it sees that a part is missing
      return false;
    }
    sink.done();
    return true;
  });
}

void Server::State::prepare() {
  // Not SO_REUSEPORT, which httplib would set: two servers would share one port.
  http.set_socket_options([this](int opened) {
    const int yes = 1;
    setsockopt(opened, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    socket = opened;
  });
  http.set_tcp_nodelay(true);  // else 44 ms for a small answer instead of 1
  http.set_keep_alive_timeout(2);
  http.set_keep_alive_max_count(10'000);
  http.set_read_timeout(5);
  http.set_write_timeout(5);
  http.set_payload_max_length(kMostBody);
  http.new_task_queue = [weak = weak_from_this()] { return new Workers(weak.lock()); };
  httplib::Headers headers;
  for (const auto& [name, value] : safe_headers()) headers.emplace(name, value);
  http.set_default_headers(std::move(headers));
  // What httplib refuses by itself, and what no handler takes.
  http.set_error_handler([](const httplib::Request& request, httplib::Response& response) {
    if (response.has_header("Cache-Control")) return;
    const char* const what =
        response.status == 413 ? "the request is too large" : "this is no request that can be answered";
    send(request, error_answer(response.status, what), response);
  });
  const auto guarded = [this](const httplib::Request& request, httplib::Response& response) {
    const Origin origin{request.get_header_value("Host"), request.get_header_value("Origin"),
                        request.get_header_value("Sec-Fetch-Site"), request.path};
    if (const std::string wrong = refusal(origin); !wrong.empty()) {
      send(request, error_answer(403, wrong), response);
    } else if (request.method != "GET" && request.method != "HEAD" &&
               (request.method != "POST" || !request.path.starts_with("/api/"))) {
      send(request, error_answer(405, request.method + " is not possible here, only GET"), response);
    } else if (const Answer* const post = wrong_post(request); post != nullptr) {
      send(request, *post, response);
    } else {
      handle(request, response);
    }
  };
  // All methods, so that a body has been read to its end before the next request on the same connection.
  http.Get(".*", guarded).Post(".*", guarded).Put(".*", guarded).Patch(".*", guarded).Delete(".*", guarded);
  http.Options(".*", guarded);
}

void Server::State::bind(std::optional<int> asked) {
  constexpr int kTries = 100;
  const int first = asked.value_or(kDefaultPort);
  const bool anywhere = asked == 0;
  for (int next = first; port == 0 && !anywhere && next < first + (asked ? 1 : kTries); ++next) {
    if (http.bind_to_port(kHost, next)) port = next;
  }
  if (port == 0 && (!asked || anywhere)) port = std::max(0, http.bind_to_any_port(kHost));
  if (port == 0)
    throw std::runtime_error("port " + std::to_string(first) +
                             " cannot be used: another program has it, or it needs more rights");
  // httplib lets five clients wait; more would come back after a second.
  ::listen(socket, kMostConnections);
}

// Its threads, and those of connections, which it starts, leave signals to the program's own.
void Server::State::listen() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  listener = std::thread([this] {
    http.listen_after_bind();
    ended = true;
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  while (!http.is_running() && !ended) std::this_thread::yield();  // stop() has no effect before
}

void Server::State::stop() {
  if (stopping.exchange(true)) return;
  http.stop();
  if (listener.joinable()) listener.join();
  std::unique_lock lock(mutex);
  quiet.wait_for(lock, std::chrono::milliseconds(800), [&] { return busy == 0; });
}

Server::Server(ServerOptions options) {
  const std::optional<int> port = options.port;
  state_ = std::make_shared<State>(std::move(options));
  state_->prepare();
  state_->bind(port);
  state_->listen();
}

// A forked child has neither threads nor a socket of its own: what is there is left to the parent, and never destroyed.
Server::~Server() {
  stop();
  if (state_->process != getpid()) state_->kept = state_;
}

void Server::stop() {
  if (state_->process == getpid()) state_->stop();
}
std::string Server::add(std::string name, const std::shared_ptr<const insight::Specimen>& specimen,
                        const insight::Progress& progress) {
  return state_->desk.add(std::move(name), specimen, progress);
}
int Server::port() const noexcept { return state_->port; }
std::string Server::url() const { return "http://127.0.0.1:" + std::to_string(port()) + "/"; }
std::string Server::make(Recipe recipe, const insight::Progress& progress) {
  return state_->desk.make({.recipe = std::move(recipe), .progress = progress, .stays = true});
}
std::shared_ptr<const Exhibit> Server::find(const std::string& id) const { return state_->desk.find(id); }
int Server::working() const { return state_->desk.working(); }
std::int64_t Server::cached_bytes() const { return state_->desk.cache().bytes(); }

}  // namespace attn::server
