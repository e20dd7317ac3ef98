#include "server/http/gate.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "server/http/guard.h"
#include "server/http/response.h"

namespace attn::server {

namespace {

constexpr std::size_t kMostFields = 100;
constexpr std::string_view kLineEnd = "\r\n";

// A second one of these could be read in another way than the first, by us or by a proxy before us.
constexpr std::array<std::string_view, 5> kOnce = {"host", "origin", "sec-fetch-site", "content-type",
                                                   "content-length"};
// What is handed on. Range, Expect and the rest would only be more for the HTTP library to interpret.
constexpr std::array<std::string_view, 7> kUsed = {"host",   "origin",          "sec-fetch-site", "content-type",
                                                   "accept", "accept-encoding", "connection"};

constexpr std::array<std::pair<int, const char*>, 10> kReasons = {{{400, "Bad Request"},
                                                                   {403, "Forbidden"},
                                                                   {408, "Request Timeout"},
                                                                   {411, "Length Required"},
                                                                   {413, "Payload Too Large"},
                                                                   {414, "URI Too Long"},
                                                                   {415, "Unsupported Media Type"},
                                                                   {429, "Too Many Requests"},
                                                                   {431, "Request Header Fields Too Large"},
                                                                   {503, "Service Unavailable"}}};

bool is_token(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

bool is_visible(std::string_view text, bool with_space) {
  return std::ranges::all_of(
      text, [&](unsigned char c) { return (c > ' ' && c != 0x7f) || (with_space && (c == ' ' || c == '\t')); });
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

void read_request_line(std::string_view line, RequestHeader& header) {
  const std::size_t first = std::min(line.find(' '), line.size());
  const std::size_t last = line.rfind(' ');
  if (last == std::string_view::npos || last <= first) throw Refusal{400, "this is not an HTTP request"};
  header.method = line.substr(0, first);
  header.target = line.substr(first + 1, last - first - 1);
  header.version = line.substr(last + 1);
  if (!is_token(header.method) || !header.target.starts_with('/') || !is_visible(header.target, false) ||
      (header.version != "HTTP/1.1" && header.version != "HTTP/1.0"))
    throw Refusal{400, "this is not an HTTP request"};
}

using Fields = std::vector<std::pair<std::string, std::string>>;

void read_field(std::string_view line, Fields& fields) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon)) || !is_visible(line.substr(colon + 1), true))
    throw Refusal{400, "a header field is not 'Name: value'"};
  std::string name = lower(line.substr(0, colon));
  const bool second = std::ranges::find(fields, name, &Fields::value_type::first) != fields.end();
  if (second && std::ranges::find(kOnce, name) != kOnce.end())
    throw Refusal{400, "there are two header fields " + name};
  fields.emplace_back(std::move(name), trimmed(line.substr(colon + 1)));
  if (fields.size() > kMostFields) throw Refusal{431, "at most 100 header fields are accepted"};
}

std::optional<std::string> value_of(const Fields& fields, std::string_view name) {
  const auto found = std::ranges::find(fields, name, &Fields::value_type::first);
  return found == fields.end() ? std::nullopt : std::optional(found->second);
}

std::size_t body_bytes(const RequestHeader& header, const Fields& fields) {
  if (value_of(fields, "transfer-encoding"))
    throw Refusal{411, "Transfer-Encoding is not accepted: send the body as it is, with a Content-Length"};
  if (lower(value_of(fields, "content-encoding").value_or("identity")) != "identity")
    throw Refusal{415, "Content-Encoding is not accepted: send the body as it is"};
  const std::optional<std::string> length = value_of(fields, "content-length");
  const bool needs = header.method == "POST" || header.method == "PUT" || header.method == "PATCH";
  if (!length && needs) throw Refusal{411, "a " + header.method + " needs a Content-Length"};
  if (!length) return 0;
  std::size_t bytes = 0;
  const char* const end = length->data() + length->size();
  const auto [stop, problem] = std::from_chars(length->data(), end, bytes);
  if (length->empty() || stop != end || (problem != std::errc() && problem != std::errc::result_out_of_range))
    throw Refusal{400, "Content-Length must be a number"};
  if (problem != std::errc() || bytes > kMostBody)
    throw Refusal{413, "the body is too large: at most " + std::to_string(kMostBody) + " bytes are accepted"};
  return bytes;
}

}  // namespace

std::optional<Refusal> too_long(std::string_view so_far) {
  if (std::min(so_far.find(kLineEnd), so_far.size()) > kMostRequestLine)
    return Refusal{414, "the request line is too long: at most " + std::to_string(kMostRequestLine) + " bytes"};
  if (so_far.size() > kMostHeader)
    return Refusal{431, "the header is too long: at most " + std::to_string(kMostHeader) + " bytes"};
  return std::nullopt;
}

RequestHeader read_request_header(std::string_view text) {
  if (const std::optional<Refusal> refused = too_long(text)) throw *refused;
  RequestHeader header;
  Fields fields;
  std::size_t at = text.find(kLineEnd);
  read_request_line(text.substr(0, at), header);
  for (at += 2; at < text.size() && !text.substr(at).starts_with(kLineEnd);) {
    const std::size_t end = text.find(kLineEnd, at);
    read_field(text.substr(at, end - at), fields);
    at = end + 2;
  }
  const std::string path = header.target.substr(0, header.target.find_first_of("?#"));
  const std::string wrong = refusal({.host = value_of(fields, "host").value_or(""),
                                     .origin = value_of(fields, "origin").value_or(""),
                                     .fetch_site = value_of(fields, "sec-fetch-site").value_or(""),
                                     .path = path});
  if (!wrong.empty()) throw Refusal{403, wrong};
  header.body_bytes = body_bytes(header, fields);
  header.expects_continue = lower(value_of(fields, "expect").value_or("")) == "100-continue";
  std::erase_if(fields, [](const auto& field) { return std::ranges::find(kUsed, field.first) == kUsed.end(); });
  header.fields = std::move(fields);
  return header;
}

std::string RequestHeader::text() const {
  std::string out = method + " " + target + " " + version + "\r\n";
  for (const auto& [name, value] : fields) out.append(name).append(": ").append(value).append(kLineEnd);
  return out.append(kLineEnd);
}

std::string refusal_text(const Refusal& refused, bool with_body) {
  const auto* const reason = std::ranges::find(kReasons, refused.status, &decltype(kReasons)::value_type::first);
  const Response response = error_response(refused.status, refused.what);
  std::string out = "HTTP/1.1 " + std::to_string(refused.status) + " " +
                    (reason == kReasons.end() ? "Error" : reason->second) + "\r\n";
  for (const auto& [name, value] : safe_headers()) out += name + ": " + value + "\r\n";
  out += "Cache-Control: no-store\r\nConnection: close\r\nContent-Type: " + response.type +
         "\r\nContent-Length: " + std::to_string(response.body->size()) + "\r\n\r\n";
  return with_body ? out + *response.body : out;
}

}  // namespace attn::server
