// Responses that are streams of events, and what happens when the client leaves.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "server/http/server.h"
#include "tests/server/raw_client.h"
#include "tests/server/test_page.h"

namespace attn::server {
namespace {

using nlohmann::json;
using test::RawClient;
using Clock = std::chrono::steady_clock;

ModelSource golden(const std::string& name) {
  return {.name = name, .folder = std::string(ATTNSCOPE_GOLDEN) + "/models/" + name};
}

struct Event {
  std::string name;
  json data;
};

class Streams : public testing::Test {
 protected:
  Streams() : pool_(std::make_shared<ThreadPool>(2)), server_(options()) {}

  ServerOptions options() {
    return {.page = test::test_page(),
            .pool = [pool = pool_] { return pool; },
            .port = 0,
            .store = {.models = {golden("bert"), golden("mistral")}}};
  }
  static std::string request(const std::string& line, const std::string& body = {}) {
    const std::string type = body.empty() ? "" : "Content-Type: application/json\r\n";
    return line + " HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nConnection: close\r\n" + type +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  static std::string generation(int tokens) {
    const json body = {{"model", "mistral"}, {"text", "The fox"}, {"generate", {{"tokens", tokens}}}};
    return request("POST /api/recordings", body.dump());
  }
  // Parses the events of a whole response; skips the lines with chunk lengths.
  static std::vector<Event> events_of(const std::string& response) {
    std::vector<Event> events;
    for (std::size_t at = response.find("event: "); at != std::string::npos; at = response.find("event: ", at + 1)) {
      const std::size_t line = response.find('\n', at), end = response.find("\n\n", at);
      const std::string name = response.substr(at + 7, line - at - 7);
      const std::string data = response.substr(line + 7, end - line - 7);
      events.push_back({name, json::parse(data)});
    }
    return events;
  }
  std::vector<Event> ask(const std::string& whole) {
    const RawClient client(server_.port());
    client.send(whole);
    const std::string response = client.read_all();
    EXPECT_NE(response.find("Content-Type: text/event-stream"), std::string::npos) << response;
    EXPECT_EQ(response.find("Content-Encoding"), std::string::npos);
    return events_of(response);
  }
  [[nodiscard]] double seconds_until_idle() const {
    const auto begin = Clock::now();
    while (server_.working() > 0 && Clock::now() - begin < std::chrono::seconds(20))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  std::shared_ptr<ThreadPool> pool_;
  Server server_;
};

TEST_F(Streams, ProgressComesFirstAndTheResultLast) {
  const auto recorded = ask(request("POST /api/recordings", R"({"model": "bert", "text": "the [MASK] was a dog"})"));
  ASSERT_GE(recorded.size(), 2U);
  EXPECT_EQ(recorded.front().name, "progress");
  EXPECT_EQ(recorded.front().data["what"], "layer");
  EXPECT_EQ(recorded.back().name, "answer");
  EXPECT_EQ(recorded.back().data["id"], "1");
  const auto facts = ask(request("GET /api/recordings/1"));
  EXPECT_EQ(facts.back().name, "answer");
  EXPECT_EQ(facts.back().data, json::object());
  const auto effects = ask(request("GET /api/recordings/1/effects"));
  EXPECT_EQ(effects.front().data["what"], "head");
  EXPECT_EQ(effects.back().name, "answer");
  EXPECT_FALSE(effects.back().data["heads"].empty());
}

TEST_F(Streams, AnErrorIsTheLastEvent) {
  const auto unknown = ask(request("POST /api/recordings", R"({"model": "nobody", "text": "a"})"));
  ASSERT_EQ(unknown.size(), 1U);
  EXPECT_EQ(unknown[0].name, "error");
  EXPECT_EQ(unknown[0].data["status"], 400);
  EXPECT_EQ(unknown[0].data["error"], "there is no model 'nobody' here, only: bert, mistral");
  EXPECT_EQ(ask(request("GET /api/recordings/9"))[0].data["status"], 404);
}

TEST_F(Streams, TokensArriveOneByOne) {
  const auto events = ask(generation(8));
  int step = 0;
  for (const Event& event : events) {
    if (event.name != "token") continue;
    EXPECT_EQ(event.data["step"], step++);
    EXPECT_EQ(event.data["choices"].size(), 5U);
  }
  EXPECT_EQ(step, 8);
  EXPECT_EQ(events.back().name, "answer");
}

TEST_F(Streams, OnlyLongWorkIsStreamed) {
  const RawClient client(server_.port());
  client.send(request("GET /api/models"));
  EXPECT_NE(client.read_all().find("Content-Type: application/json"), std::string::npos);
}

TEST_F(Streams, DisconnectingCancelsTheWork) {
  {
    const RawClient client(server_.port());
    client.send(generation(30'000));
    ASSERT_NE(client.read_until("event: token").find("event: token"), std::string::npos);
    EXPECT_EQ(server_.working(), 1);
  }
  EXPECT_LT(seconds_until_idle(), 1);
}

TEST_F(Streams, WorkContinuesWhileAnotherClientWaits) {
  const RawClient second(server_.port());
  std::string received;
  {
    const RawClient first(server_.port());
    first.send(generation(1000));
    static_cast<void>(first.read_until("event: token"));
    second.send(generation(1000));
    received = second.read_until("event: token");
  }
  const std::string rest = received + second.read_all();
  EXPECT_NE(rest.find("event: answer"), std::string::npos);
  EXPECT_NE(rest.find("\"step\":999"), std::string::npos) << "a later client receives all tokens";
}

TEST_F(Streams, StoppingTheServerEndsThem) {
  const RawClient client(server_.port());
  client.send(generation(30'000));
  static_cast<void>(client.read_until("event: token"));
  const auto begin = Clock::now();
  server_.stop();
  EXPECT_LT(std::chrono::duration<double>(Clock::now() - begin).count(), 1);
}

}  // namespace
}  // namespace attn::server
