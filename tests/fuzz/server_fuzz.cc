// What the page sends: requests to the API, and the settings and data of lessons.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "course/course.h"
#include "server/http/gate.h"
#include "server/routes/api.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace attn::fuzz {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience{2};  // of a client; then the work is cancelled

server::RecordingStore& store() {
  static const auto pool = std::make_shared<ThreadPool>(1);
  static const auto made = [] {
    server::StoreOptions options;
    for (const char* const name : {"bert", "gpt2", "t5"}) {
      options.models.push_back({.name = name, .folder = std::string(ATTNSCOPE_GOLDEN) + "/models/" + name});
    }
    options.memory = std::int64_t{64} << 20;
    auto store = std::make_unique<server::RecordingStore>([] { return pool; }, 1 << 20, std::move(options));
    const server::Request first{
        .method = "POST", .path = "/api/recordings", .body = R"({"model":"bert","text":"The quick brown fox."})"};
    require(server::Api(*store).response(first).status == 200, "the first recording can be made");
    return store;
  }();
  return *made;
}

server::Query query_of(std::string_view text) {
  server::Query query;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size()), equals = text.find('=');
    if (equals < end) query.emplace(text.substr(0, equals), text.substr(equals + 1, end - equals - 1));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return query;
}

}  // namespace

void fuzz_api(std::string_view input) {
  std::string body(input);
  const std::string line = take_line(body);
  const std::size_t space = line.find(' ');
  if (space == std::string::npos || !line.substr(space + 1).starts_with("/api/")) return;
  const std::string target = line.substr(space + 1);
  const std::size_t mark = std::min(target.find('?'), target.size());
  server::Request request{.method = line.substr(0, space), .path = target.substr(0, mark), .body = body};
  if (mark < target.size()) request.query = query_of(std::string_view(target).substr(mark + 1));
  const Clock::time_point until = Clock::now() + kPatience;
  const server::Response response =
      server::Api(store()).response(request, {.waits = [&] { return Clock::now() < until; }});
  require(response.status >= 200 && response.status < 600 && response.status != 500, "no request is an internal error");
  require(response.body != nullptr || response.pour, "every response has a body");
}

void fuzz_gate(std::string_view input) {
  try {
    static_cast<void>(server::too_long(input));
    const std::size_t end = input.find(server::kHeaderEnd);
    if (end == std::string_view::npos) return;
    const server::RequestHeader header = server::read_request_header(input.substr(0, end + server::kHeaderEnd.size()));
    require(header.body_bytes <= server::kMostBody, "no body is longer than the limit");
    const std::string text = header.text();
    require(text.ends_with(server::kHeaderEnd) && text.find(server::kHeaderEnd) == text.size() - 4,
            "a header that was written anew ends where it should");
    require(std::ranges::count(text, '\n') == static_cast<std::ptrdiff_t>(header.fields.size()) + 2,
            "a header that was written anew has one line per field");
  } catch (const server::Refusal& refused) {
    require(refused.status >= 400 && refused.status < 500 && !refused.what.empty(), "a refusal says why");
    static_cast<void>(server::refusal_text(refused));
  }
}

void fuzz_lesson(std::string_view input) {
  std::vector<std::string> parts = parts_of(input);
  const course::Lesson* const lesson = course::find_lesson(take_line(parts[0]));
  if (lesson == nullptr) return;
  documented([&] {
    course::LessonInput with = lesson->input;
    while (!parts[0].empty()) with.set(take_line(parts[0]));
    if (parts.size() > 1 && !parts[1].empty()) with.read(parts[1]);
    if (parts.size() > 2 && !parts[2].empty()) with.read_vectors(parts[2]);
    ThreadPool pool(1);
    const Clock::time_point until = Clock::now() + kPatience;
    const auto stop = [&](std::int64_t, std::int64_t) {
      if (Clock::now() > until) throw std::invalid_argument("out of patience");
    };
    static_cast<void>(lesson->tell(with, {pool, stop}));
  });
}

}  // namespace attn::fuzz
