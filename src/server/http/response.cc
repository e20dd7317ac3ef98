#include "server/http/response.h"

#include <algorithm>

#include "base/json_file.h"
#include "insight/io/json.h"
#include "server/http/compress.h"

namespace attn::server {

namespace {

std::string one_line(std::string text) {
  std::ranges::replace_if(text, [](unsigned char c) { return c < ' '; }, ' ');
  return text;
}

}  // namespace

Bytes shared(std::string bytes) { return std::make_shared<const std::string>(std::move(bytes)); }

Response json_response(int status, std::string json) {
  constexpr std::size_t kWorthPacking = 2000;
  Response response{status, kJson, shared(std::move(json))};
  if (response.body->size() > kWorthPacking && compresses_responses())
    response.packed = shared(gzipped(*response.body));
  return response;
}

Response error_response(int status, const std::string& what) {
  return json_response(status, insight::as_line(insight::Json{{"error", one_line(what)}}));
}

std::string with_status(const Response& error) {
  nlohmann::json json = base::parse_json(*error.body, "the response");
  json["status"] = error.status;
  return json.dump() + "\n";
}

Response octets(Bytes bytes) { return {200, "application/octet-stream", std::move(bytes)}; }

Response download(std::string type, const std::string& name, Bytes bytes) {
  Response response{200, std::move(type), std::move(bytes)};
  response.headers = {{"Content-Disposition", "attachment; filename=\"" + name + "\""}};
  return response;
}

}  // namespace attn::server
