#include "tests/server/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>

namespace attn::test {

namespace {

bool connect_to(int opened, const char* address, int port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  inet_pton(AF_INET, address, &to.sin_addr);
  return connect(opened, reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0;
}

}  // namespace

RawClient::RawClient(int port, int receive_bytes) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  if (receive_bytes > 0) setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
  const timeval patience{5, 0};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  if (!connect_to(socket_, "127.0.0.1", port)) throw std::runtime_error("no connection");
}

RawClient::~RawClient() { close(socket_); }

bool RawClient::can_connect(const char* address, int port) {
  const int opened = ::socket(AF_INET, SOCK_STREAM, 0);
  const bool connected = connect_to(opened, address, port);
  close(opened);
  return connected;
}

void RawClient::send(const std::string& bytes) const {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t now = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (now <= 0) return;  // the server has closed; what it sent can still be read
    sent += static_cast<std::size_t>(now);
  }
}

std::string RawClient::read_until(const std::string& end) const {
  std::string all;
  std::array<char, 4096> part{};
  while (all.find(end) == std::string::npos) {
    const ssize_t got = recv(socket_, part.data(), part.size(), 0);
    if (got <= 0) break;
    all.append(part.data(), static_cast<std::size_t>(got));
  }
  return all;
}

std::string RawClient::read_within(std::chrono::milliseconds time) const {
  pollfd in{socket_, POLLIN, 0};
  if (poll(&in, 1, static_cast<int>(time.count())) <= 0) return {};
  std::array<char, 4096> part{};
  const ssize_t got = recv(socket_, part.data(), part.size(), 0);
  return {part.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

std::string RawClient::read_all() const {
  std::string all;
  std::array<char, 4096> part{};
  for (ssize_t got = 0; (got = recv(socket_, part.data(), part.size(), 0)) > 0;)
    all.append(part.data(), static_cast<std::size_t>(got));
  return all;
}

RawClient::Response RawClient::read_response() const {
  constexpr std::string_view kLength = "Content-Length: ";
  std::string all;
  std::array<char, 4096> part{};
  std::size_t end = std::string::npos, need = 0;
  while (end == std::string::npos || all.size() < need) {
    const ssize_t got = recv(socket_, part.data(), part.size(), 0);
    if (got <= 0) break;
    all.append(part.data(), static_cast<std::size_t>(got));
    end = all.find("\r\n\r\n");
    if (end == std::string::npos) continue;
    const std::size_t length = all.find(kLength);
    need = end + 4 + (length < end ? std::strtoul(all.c_str() + length + kLength.size(), nullptr, 10) : 0);
  }
  Response response;
  if (all.size() > 12) response.status = std::atoi(all.c_str() + 9);
  response.head = all.substr(0, end);
  if (end != std::string::npos) response.body = all.substr(end + 4);
  return response;
}

RawClient::Response RawClient::ask(const std::string& request) const {
  send(request.find("\r\n\r\n") == std::string::npos ? request + "\r\n" : request);
  return read_response();
}

}  // namespace attn::test
