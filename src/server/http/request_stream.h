// server/http/request_stream.h - a complete request as a stream that the HTTP library reads from, and whose response it
// writes to the socket. Include it from .cc files only.
#pragma once

#include <httplib.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace attn::server {

class RequestStream final : public httplib::Stream {
 public:
  // `crowded`: whether other requests wait for a thread; a client that does not read its response then loses it sooner.
  RequestStream(std::string header, int socket, std::function<bool()> crowded)
      : header_(std::move(header)), socket_(socket), crowded_(std::move(crowded)) {}

  [[nodiscard]] bool is_readable() const override { return at_ < header_.size(); }
  // Waits for space; false if the client has left or does not read.
  [[nodiscard]] bool is_writable() const override;
  ssize_t read(char* to, std::size_t size) override;
  ssize_t write(const char* from, std::size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  // None: the library would use it to wait.
  [[nodiscard]] socket_t socket() const override { return INVALID_SOCKET; }

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool wait_for_space() const;

  std::string header_;
  std::size_t at_ = 0;
  int socket_;
  std::function<bool()> crowded_;
  std::int64_t sent_ = 0;
  mutable Clock::duration stalled_{0};  // time for which the client did not read, over the whole response
};

}  // namespace attn::server
