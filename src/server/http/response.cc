#include "server/http/response.h"

#include <algorithm>

#include "insight/io/json.h"
#include "server/http/encode.h"

namespace attn::server {

namespace {

std::string one_line(std::string text) {
  std::ranges::replace_if(text, [](unsigned char c) { return c < ' '; }, ' ');
  return text;
}

}  // namespace

Bytes shared(std::string bytes) { return std::make_shared<const std::string>(std::move(bytes)); }

Answer json_answer(int status, std::string json) {
  constexpr std::size_t kWorthPacking = 2000;
  Answer answer{status, kJson, shared(std::move(json))};
  if (answer.body->size() > kWorthPacking) answer.packed = shared(gzipped(*answer.body));
  return answer;
}

Answer error_answer(int status, const std::string& what) {
  return json_answer(status, insight::as_line(insight::Json{{"error", one_line(what)}}));
}

std::string with_status(const Answer& error) {
  insight::Json json = insight::Json::parse(*error.body);
  json["status"] = error.status;
  return insight::as_line(json);
}

Answer octets(Bytes bytes) { return {200, "application/octet-stream", std::move(bytes)}; }

Answer download(std::string type, const std::string& name, Bytes bytes) {
  Answer answer{200, std::move(type), std::move(bytes)};
  answer.headers = {{"Content-Disposition", "attachment; filename=\"" + name + "\""}};
  return answer;
}

}  // namespace attn::server
