// tests/server/raw_client.h - an HTTP client that can also misbehave.
#pragma once

#include <chrono>
#include <string>

namespace attn::test {

class RawClient {
 public:
  struct Response {
    int status = 0;
    std::string head, body;
  };

  // `receive_bytes`: size of the receive buffer, small for a slow client; 0: the default. Throws std::runtime_error.
  explicit RawClient(int port, int receive_bytes = 0);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void send(const std::string& bytes) const;
  // Reads one response, by its Content-Length; waits at most five seconds for each part.
  [[nodiscard]] Response read_response() const;
  // Reads until `end` has arrived; waits at most five seconds for each part.
  [[nodiscard]] std::string read_until(const std::string& end) const;
  // What arrives within this time; empty if nothing does.
  [[nodiscard]] std::string read_within(std::chrono::milliseconds time) const;
  // Reads until the server closes the connection.
  [[nodiscard]] std::string read_all() const;
  // Sends a request line and headers; adds the empty line after them if it is missing.
  [[nodiscard]] Response ask(const std::string& request) const;

  static bool can_connect(const char* address, int port);

 private:
  int socket_ = -1;
};

}  // namespace attn::test
