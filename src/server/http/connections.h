// server/http/connections.h - accepts connections and reads requests, without a thread per connection.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace attn::server {

inline constexpr std::size_t kMostConnections = 512;

struct ConnectionLimits {
  std::chrono::milliseconds header{5'000};  // from its first byte to its last; slow clients get 408
  std::chrono::milliseconds body{30'000};   // likewise
  std::chrono::milliseconds idle{15'000};   // between two requests
  std::size_t connections = kMostConnections;
  std::size_t body_bytes = std::size_t{64} << 20;  // of all bodies that are being read or answered
};

// A request whose header the gate has let through, and whose body is complete.
struct WholeRequest {
  std::string header, body;
};

// One thread reads the requests of all clients. A connection takes a worker only while a complete request of it is
// being answered, so clients that send slowly, or nothing, hold up no one. If there are too many connections, the one
// that has kept the server waiting longest is closed: a new client always gets in, unless all connections have requests
// that are being answered.
class Connections {
 public:
  // Answers a request by writing to the socket, on a thread of its own. Returns whether the connection may serve
  // another request. Must not throw.
  using Answer = std::function<bool(WholeRequest& request, int socket)>;
  // Runs the work on another thread, soon.
  using Enqueue = std::function<void(std::function<void()> work)>;

  // Takes over a listening socket.
  Connections(int listener, const ConnectionLimits& limits, Enqueue enqueue, Answer answer);
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // Serves until stop() is called by another thread, then closes the listener and all connections without a request
  // that is being answered; the others are closed when it has been.
  void run();
  void stop();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// A socket that listens on 127.0.0.1, port 0 for any; -1 if the port cannot be used.
int listening_socket(int port);
int port_of(int socket);

}  // namespace attn::server
