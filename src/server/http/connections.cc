#include "server/http/connections.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "server/http/gate.h"

namespace attn::server {

namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kDrainTime{2'000};
constexpr std::size_t kMostDrained = std::size_t{16} << 20;
constexpr std::size_t kPart = std::size_t{64} << 10;  // bytes received at a time

// The time until the deadline, for poll(): at least 0, rounded up.
int patience(Steady::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Steady::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

sockaddr_in address_of(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

enum class Phase : std::uint8_t { idle, header, body, drain };

struct Connection {
  explicit Connection(int opened) : socket(opened) {}
  ~Connection() { ::close(socket); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void begin(Phase next, std::chrono::milliseconds time) {
    phase = next;
    since = Steady::now();
    deadline = since + time;
  }

  const int socket;
  Phase phase = Phase::idle;
  Steady::time_point since, deadline;   // of the phase
  std::string bytes;                    // received and not yet handed over
  std::optional<RequestHeader> header;  // of the request whose body is being read
  std::size_t drained = 0;
};

struct Connections::State : std::enable_shared_from_this<Connections::State> {
  using Owned = std::shared_ptr<Connection>;

  int listener = -1, wake = -1;
  ConnectionLimits limits;
  Enqueue enqueue;
  Answer answer;
  std::atomic<bool> stopping = false;

  // Of the reading thread.
  std::vector<Owned> waiting;         // connections without a complete request
  Steady::time_point accepts_from{};  // no connection is accepted before: the system has no more descriptors
  std::string part = std::string(kPart, '\0');

  std::mutex mutex;
  std::vector<Owned> answered;           // on their way back
  std::atomic<std::size_t> working = 0;  // connections with a request that is being answered
  std::atomic<std::size_t> bodies = 0;   // bytes of all bodies that are being read or answered

  ~State() {
    ::close(wake);
    if (listener >= 0) ::close(listener);
  }

  void ring() const {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(wake, &one, sizeof(one)));
  }
  void step();
  void take_back();
  void expire();
  void accept_some();
  bool evict(bool (*can_go)(const Connection&));
  bool receive(Connection& connection);
  bool read_on(const Owned& connection);
  bool refuse(Connection& connection, const Refusal& refused);
  std::optional<Refusal> begin_body(Connection& connection, RequestHeader header);
  void hand_over(Owned connection, const RequestHeader& header);
  void forget(const Connection& connection) {
    if (connection.header) bodies -= connection.header->body_bytes;
  }
};

// ---- reading ----

// Answers at once and closes later: a close with unread bytes would discard the response on its way.
bool Connections::State::refuse(Connection& connection, const Refusal& refused) {
  const bool with_body =
      connection.header ? connection.header->method != "HEAD" : !connection.bytes.starts_with("HEAD ");
  const std::string text = refusal_text(refused, with_body);
  forget(connection);
  connection.header.reset();
  connection.bytes = {};
  const ssize_t sent = ::send(connection.socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent != std::ssize(text) || ::shutdown(connection.socket, SHUT_WR) != 0) return false;
  connection.begin(Phase::drain, kDrainTime);
  return true;
}

// Receives what has arrived; returns false if the connection is to be closed.
bool Connections::State::receive(Connection& connection) {
  const ssize_t got = ::recv(connection.socket, part.data(), part.size(), MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  if (got == 0) return false;
  if (connection.phase != Phase::drain) {
    connection.bytes.append(part.data(), static_cast<std::size_t>(got));
    return true;
  }
  connection.drained += static_cast<std::size_t>(got);
  return connection.drained <= kMostDrained;
}

std::optional<Refusal> Connections::State::begin_body(Connection& connection, RequestHeader header) {
  while (bodies + header.body_bytes > limits.body_bytes)
    if (!evict([](const Connection& other) { return other.header.has_value(); }))
      return Refusal{429, "too many large requests at once"};
  bodies += header.body_bytes;
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  if (header.expects_continue && connection.bytes.size() < header.body_bytes)
    ::send(connection.socket, kContinue.data(), kContinue.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  connection.header = std::move(header);
  connection.begin(Phase::body, limits.body);
  return std::nullopt;
}

// Goes on with the bytes that are there. Returns whether the connection stays in `waiting`.
bool Connections::State::read_on(const Owned& connection) {
  std::string& bytes = connection->bytes;
  if (connection->phase == Phase::drain) return true;
  if (!connection->header) {
    bytes.erase(0, std::min(bytes.find_first_not_of("\r\n"), bytes.size()));  // RFC 9112, 2.2
    if (bytes.empty()) return true;
    if (connection->phase == Phase::idle) connection->begin(Phase::header, limits.header);
    const std::size_t end = bytes.find(kHeaderEnd);
    const std::string_view header = std::string_view(bytes).substr(0, std::min(end, bytes.size()));
    if (const std::optional<Refusal> refused = too_long(header)) return refuse(*connection, *refused);
    if (end == std::string::npos) return true;
    try {
      RequestHeader parsed = read_request_header(std::string_view(bytes).substr(0, end + kHeaderEnd.size()));
      bytes.erase(0, end + kHeaderEnd.size());
      if (const auto refused = begin_body(*connection, std::move(parsed))) return refuse(*connection, *refused);
    } catch (const Refusal& refused) {
      return refuse(*connection, refused);
    }
  }
  std::optional<RequestHeader>& pending = connection->header;
  if (!pending || bytes.size() < pending->body_bytes) return true;
  const RequestHeader header = std::move(*pending);
  pending.reset();
  hand_over(connection, header);
  return false;
}

void Connections::State::hand_over(Owned connection, const RequestHeader& header) {
  const std::size_t length = header.body_bytes;
  auto request = std::make_shared<WholeRequest>();
  request->header = header.text();
  std::string next = connection->bytes.substr(length);
  connection->bytes.resize(length);
  request->body = std::exchange(connection->bytes, std::move(next));
  ++working;
  enqueue(
      [self = shared_from_this(), connection = std::move(connection), request = std::move(request), length]() mutable {
        const bool stays = self->answer(*request, connection->socket);
        request.reset();
        self->bodies -= length;
        {
          const std::scoped_lock lock(self->mutex);
          if (stays && !self->stopping) self->answered.push_back(std::move(connection));
        }
        connection.reset();
        --self->working;
        self->ring();
      });
}

// ---- connections ----

void Connections::State::take_back() {
  std::vector<Owned> back;
  {
    const std::scoped_lock lock(mutex);
    back.swap(answered);
  }
  for (Owned& connection : back) {
    connection->begin(Phase::idle, limits.idle);
    if (read_on(connection)) waiting.push_back(std::move(connection));  // the next request may be there already
  }
}

void Connections::State::expire() {
  const auto now = Steady::now();
  std::erase_if(waiting, [&](const Owned& connection) {
    if (connection->deadline > now) return false;
    if (connection->phase == Phase::header || connection->phase == Phase::body)
      return !refuse(*connection, {408, "the request did not arrive in time"});
    return true;
  });
}

// Closes the connection that has kept the server waiting longest; returns false if there is none that can go.
bool Connections::State::evict(bool (*can_go)(const Connection&)) {
  auto oldest = waiting.end();
  for (auto one = waiting.begin(); one != waiting.end(); ++one)
    if (can_go(**one) && (oldest == waiting.end() || (*one)->since < (*oldest)->since)) oldest = one;
  if (oldest == waiting.end()) return false;
  forget(**oldest);
  waiting.erase(oldest);
  return true;
}

void Connections::State::accept_some() {
  constexpr int kMostAtOnce = 64;  // then requests are read again
  const auto any = [](const Connection&) { return true; };
  for (int n = 0; n < kMostAtOnce && (!waiting.empty() || working < limits.connections); ++n) {
    const int opened = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (opened < 0) {
      const bool none_free = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (none_free && !evict(any)) accepts_from = Steady::now() + std::chrono::milliseconds(100);
      return;
    }
    if (waiting.size() + working >= limits.connections) evict(any);
    const int yes = 1;
    ::setsockopt(opened, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));  // a small response takes 1 ms instead of 44
    auto connection = std::make_shared<Connection>(opened);
    connection->begin(Phase::idle, limits.idle);
    waiting.push_back(std::move(connection));
  }
}

// ---- the loop ----

void Connections::State::step() {
  take_back();
  expire();
  std::vector<pollfd> polls = {{wake, POLLIN, 0}};
  auto next = Steady::now() + std::chrono::seconds(60);
  for (const Owned& connection : waiting) {
    polls.push_back({connection->socket, POLLIN, 0});
    next = std::min(next, connection->deadline);
  }
  const bool accepts = Steady::now() >= accepts_from && (!waiting.empty() || working < limits.connections);
  if (accepts) polls.push_back({listener, POLLIN, 0});
  if (!accepts) next = std::min(next, std::max(accepts_from, Steady::now() + std::chrono::milliseconds(100)));
  if (::poll(polls.data(), polls.size(), patience(next)) <= 0) return;
  if (polls[0].revents != 0) {
    std::uint64_t rings = 0;
    static_cast<void>(!::read(wake, &rings, sizeof(rings)));
  }
  // By value: read_on() may evict others.
  std::vector<Owned> ready;
  for (std::size_t n = 0; n < waiting.size(); ++n)
    if (polls[n + 1].revents != 0) ready.push_back(waiting[n]);
  for (const Owned& connection : ready) {
    const bool there = std::ranges::find(waiting, connection) != waiting.end();
    if (!there || (receive(*connection) && read_on(connection))) continue;
    forget(*connection);
    std::erase(waiting, connection);
  }
  if (accepts && polls.back().revents != 0) accept_some();
}

Connections::Connections(int listener, const ConnectionLimits& limits, Enqueue enqueue, Answer answer)
    : state_(std::make_shared<State>()) {
  state_->listener = listener;
  state_->limits = limits;
  state_->enqueue = std::move(enqueue);
  state_->answer = std::move(answer);
  state_->wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (state_->wake < 0) throw std::system_error(errno, std::generic_category(), "no event descriptor");
}

Connections::~Connections() = default;

void Connections::run() {
  while (!state_->stopping) state_->step();
  ::close(std::exchange(state_->listener, -1));
  state_->waiting.clear();
  const std::scoped_lock lock(state_->mutex);
  state_->answered.clear();
}

void Connections::stop() {
  {
    const std::scoped_lock lock(state_->mutex);
    state_->stopping = true;
  }
  state_->ring();
}

int listening_socket(int port) {
  const int opened = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int yes = 1;
  ::setsockopt(opened, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  const sockaddr_in address = address_of(port);
  if (::bind(opened, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
      ::listen(opened, static_cast<int>(kMostConnections)) == 0)
    return opened;
  ::close(opened);
  return -1;
}

int port_of(int socket) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

}  // namespace attn::server
