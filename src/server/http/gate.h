// server/http/gate.h - checks the header of a request (its request line and fields) before its body is read.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn::server {

inline constexpr std::size_t kMostRequestLine = 8192;
inline constexpr std::size_t kMostHeader = std::size_t{32} << 10;
inline constexpr std::size_t kMostBody = std::size_t{2} << 20;
inline constexpr std::string_view kHeaderEnd = "\r\n\r\n";

// A request that the gate does not let through.
struct Refusal {
  int status = 0;
  std::string what = {};
};

// The header of a request that the gate lets through.
struct RequestHeader {
  std::string method, target, version;
  std::vector<std::pair<std::string, std::string>> fields;  // those that the server uses
  std::size_t body_bytes = 0;
  bool expects_continue = false;  // the client waits for "100 Continue" before it sends the body

  // The header as a new text, without the fields that the server does not use.
  [[nodiscard]] std::string text() const;
};

// Why a header that is still incomplete is refused: it is too long already.
std::optional<Refusal> too_long(std::string_view so_far);

// Parses and checks a header up to kHeaderEnd. Throws Refusal:
//   400  not HTTP/1.x, a field that is not "Name: value", or two of a field that must be one, such as Host
//   403  another host or origin, see refusal() in guard.h
//   411  no Content-Length where a body must follow, or a Transfer-Encoding: a body's length is known before it is read
//   413  a body of more than kMostBody bytes
//   414, 431  too long a request line, or header
//   415  a Content-Encoding: nothing is decompressed
RequestHeader read_request_header(std::string_view header);

// The whole response to a refused request, after which the connection is closed.
std::string refusal_text(const Refusal& refused, bool with_body = true);

}  // namespace attn::server
