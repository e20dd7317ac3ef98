// tests/server/raw_client.h - a client that can also do what no well-behaved one does.
#pragma once

#include <string>

namespace attn::test {

class RawClient {
 public:
  struct Response {
    int status = 0;
    std::string head, body;
  };

  // `receive_bytes`: of a client that cannot take much at a time; 0: as usual. Throws std::runtime_error.
  explicit RawClient(int port, int receive_bytes = 0);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void send(const std::string& bytes) const;
  // One answer, by its Content-Length; five seconds at most for each part.
  [[nodiscard]] Response read_response() const;
  // What has come, once `end` is in it; five seconds at most for each part.
  [[nodiscard]] std::string read_until(const std::string& end) const;
  // Until the server closes.
  [[nodiscard]] std::string read_all() const;
  // Request line and headers; the empty line behind them is added unless there is one.
  [[nodiscard]] Response ask(const std::string& request) const;

  static bool can_connect(const char* address, int port);

 private:
  int socket_ = -1;
};

}  // namespace attn::test
