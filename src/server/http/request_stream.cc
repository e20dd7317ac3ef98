#include "server/http/request_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace attn::server {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kSlice{50};
constexpr milliseconds kMostStall{5'000}, kMostStallCrowded{500};  // without a byte read
// Over a whole response, plus a second per 64 kB: a client must read at this speed on average.
constexpr seconds kMostStallInAll{20};
constexpr std::int64_t kBytesPerSecond = 65'536;

bool is_alive(int socket) {
  char byte = 0;
  const ssize_t got = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
}

}  // namespace

bool RequestStream::wait_for_space() const {
  const auto begin = Clock::now();
  while (true) {
    pollfd out{socket_, POLLOUT, 0};
    const int ready = ::poll(&out, 1, static_cast<int>(kSlice.count()));
    if (ready > 0) {
      stalled_ += Clock::now() - begin;
      return (out.revents & (POLLERR | POLLHUP | POLLNVAL)) == 0;
    }
    if (ready < 0 && errno != EINTR) return false;
    const auto waited = Clock::now() - begin;
    if (waited > (crowded_() ? kMostStallCrowded : kMostStall)) return false;
    if (stalled_ + waited > kMostStallInAll + seconds(sent_ / kBytesPerSecond)) return false;
  }
}

bool RequestStream::is_writable() const { return is_alive(socket_) && wait_for_space(); }

ssize_t RequestStream::read(char* to, std::size_t size) {
  const std::size_t now = std::min(size, header_.size() - at_);
  std::memcpy(to, header_.data() + at_, now);
  at_ += now;
  return static_cast<ssize_t>(now);
}

ssize_t RequestStream::write(const char* from, std::size_t size) {
  while (true) {
    const ssize_t sent = ::send(socket_, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      sent_ += sent;
      return sent;
    }
    if (errno == EINTR) continue;
    if ((errno != EAGAIN && errno != EWOULDBLOCK) || !wait_for_space()) return -1;
  }
}

void RequestStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip = "127.0.0.1";
  port = 0;
}

void RequestStream::get_local_ip_and_port(std::string& ip, int& port) const { get_remote_ip_and_port(ip, port); }

}  // namespace attn::server
