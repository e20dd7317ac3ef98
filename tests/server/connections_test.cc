// What happens on the wire before a request is complete: limits, deadlines, and clients that keep the server waiting.
#include "server/http/connections.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/http/server.h"
#include "tests/server/raw_client.h"
#include "tests/server/test_page.h"

namespace attn::server {
namespace {

using std::chrono::milliseconds;
using test::RawClient;

std::unique_ptr<Server> server_with(const ConnectionLimits& limits) {
  auto pool = std::make_shared<ThreadPool>(1);
  return std::make_unique<Server>(
      ServerOptions{.page = test::test_page(), .pool = [pool] { return pool; }, .port = 0, .connections = limits});
}

const std::string kGet = "GET /api/recordings HTTP/1.1\r\nHost: localhost\r\n\r\n";
std::string post_header(const std::string& headers) {
  return "POST /api/mask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + headers + "\r\n";
}
const std::string kMaskBody = R"({"text": "causal", "queries": 2, "keys": 2})";
std::string mask_header(const std::string& headers = {}) {
  return post_header("Content-Length: " + std::to_string(kMaskBody.size()) + "\r\n" + headers);
}

class Wire : public testing::Test {
 protected:
  Wire() : server_(server_with({})) {}

  // The response to bytes after which nothing follows, and what comes after it until the server closes.
  RawClient::Response ask(const std::string& bytes) {
    const RawClient client(server_->port());
    client.send(bytes);
    return client.read_response();
  }

  std::unique_ptr<Server> server_;
};

TEST_F(Wire, RefusesABodyBeforeItArrives) {
  EXPECT_EQ(ask(post_header("Transfer-Encoding: chunked\r\n")).status, 411);
  EXPECT_EQ(ask(post_header("Content-Length: 1000\r\nContent-Encoding: gzip\r\n")).status, 415);
  EXPECT_EQ(ask(post_header("Content-Length: 2097153\r\n")).status, 413);
  EXPECT_EQ(ask(post_header("")).status, 411);
  EXPECT_EQ(ask("POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 1000\r\n\r\n").status, 403);
  EXPECT_EQ(ask("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n").status, 400);
}

TEST_F(Wire, RefusesALongHeadBeforeItEnds) {
  EXPECT_EQ(ask("GET /" + std::string(10'000, 'x')).status, 414);
  EXPECT_EQ(ask("GET / HTTP/1.1\r\nX: " + std::string(40'000, 'x')).status, 431);
  EXPECT_EQ(ask(std::string(50'000, 'x')).status, 414);
}

TEST_F(Wire, AClientThatSendsOnGetsItsRefusal) {
  const RawClient client(server_->port());
  client.send(post_header("Transfer-Encoding: chunked\r\n"));
  for (int n = 0; n < 40; ++n) client.send("10000\r\n" + std::string(65'536, 'x') + "\r\n");
  EXPECT_TRUE(client.read_all().starts_with("HTTP/1.1 411 "));
}

TEST_F(Wire, ARefusedHeadRequestGetsNoBody) {
  const RawClient client(server_->port());
  client.send("HEAD / HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  EXPECT_TRUE(client.read_all().ends_with("\r\n\r\n"));
}

TEST_F(Wire, NoSpellingOfThePathPassesTheGuard) {
  for (const char* path : {"/api/recordings", "/%61pi/recordings", "/api%2frecordings"})
    EXPECT_EQ(
        ask(std::string("GET ") + path + " HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\n\r\n").status,
        403)
        << path;
}

TEST_F(Wire, AVeryLongPathIsNotFound) {
  EXPECT_EQ(ask("GET /" + std::string(8'100, 'x') + " HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 404);
}

TEST_F(Wire, RangesAreIgnored) {
  const auto part = ask("GET / HTTP/1.1\r\nHost: localhost\r\nRange: bytes=0-1,0-1,0-1\r\n\r\n");
  EXPECT_EQ(part.status, 200);
  EXPECT_GT(part.body.size(), 6U);
}

TEST_F(Wire, ARequestMayArriveInParts) {
  const RawClient client(server_->port());
  const std::string all = mask_header() + kMaskBody + kGet;
  for (const char byte : all) client.send(std::string(1, byte));
  EXPECT_EQ(client.read_response().status, 200);
  EXPECT_EQ(ask("\r\n\r\n" + kGet).status, 200);
}

TEST_F(Wire, RequestsSentTogetherAreAnsweredInOrder) {
  const RawClient client(server_->port());
  client.send(mask_header() + kMaskBody + "GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const std::string all = client.read_all();
  EXPECT_TRUE(all.starts_with("HTTP/1.1 200 ")) << all;
  EXPECT_NE(all.find("HTTP/1.1 404 "), std::string::npos) << all;
}

TEST_F(Wire, AClientThatAsksFirstIsToldToContinue) {
  const RawClient client(server_->port());
  client.send(mask_header("Expect: 100-continue\r\n"));
  EXPECT_EQ(client.read_response().status, 100);
  client.send(kMaskBody);
  EXPECT_EQ(client.read_response().status, 200);
  EXPECT_EQ(ask(post_header("Content-Length: 9999999\r\nExpect: 100-continue\r\n")).status, 413);
}

TEST(WireDeadlines, ARequestMustArriveInTime) {
  const auto server = server_with({.header = milliseconds(100), .body = milliseconds(100)});
  for (const std::string& part : {std::string("GET / HTT"), mask_header() + "{"}) {
    const RawClient client(server->port());
    client.send(part);
    const std::string all = client.read_all();
    EXPECT_TRUE(all.starts_with("HTTP/1.1 408 ")) << all;
  }
}

TEST(WireDeadlines, TimeCountsFromTheFirstByteNotTheLast) {
  const auto server = server_with({.header = milliseconds(200)});
  const RawClient client(server->port());
  std::string all;
  for (int n = 0; n < 2'000 && all.empty(); ++n) {
    client.send("x");
    all = client.read_within(milliseconds(10));
  }
  EXPECT_TRUE(all.starts_with("HTTP/1.1 408 ")) << all;
}

TEST(WireDeadlines, AnIdleConnectionIsClosedQuietly) {
  const auto server = server_with({.idle = milliseconds(50)});
  const RawClient silent(server->port());
  EXPECT_EQ(silent.read_all(), "");
}

TEST(WireCrowds, ClientsThatKeepTheServerWaitingLockNobodyOut) {
  const auto server = server_with({.connections = 50});
  std::vector<std::unique_ptr<RawClient>> slow;
  for (int n = 0; n < 200; ++n) {
    slow.push_back(std::make_unique<RawClient>(server->port()));
    if (n % 3 == 0) slow.back()->send("GET / HTTP/1.1\r\nHost: local");
    if (n % 3 == 1) slow.back()->send(mask_header() + "{");
  }
  for (int n = 0; n < 20; ++n) EXPECT_EQ(RawClient(server->port()).ask(kGet).status, 200);
  // The newest of them are still connected. This one has sent nothing yet.
  slow[197]->send(kGet);
  EXPECT_EQ(slow[197]->read_response().status, 200);
}

TEST(WireCrowds, UnfinishedBodiesShareALimit) {
  const auto server = server_with({.body_bytes = 3 << 20});
  const RawClient first(server->port()), second(server->port());
  first.send(post_header("Content-Length: 2000000\r\nExpect: 100-continue\r\n"));
  ASSERT_EQ(first.read_response().status, 100);  // from now on it counts
  second.send(post_header("Content-Length: 2000000\r\n") + std::string(2'000'000, ' '));
  EXPECT_EQ(second.read_response().status, 400);
  EXPECT_EQ(first.read_all(), "");  // closed to make room
  EXPECT_EQ(RawClient(server->port()).ask(mask_header() + kMaskBody).status, 200);
}

}  // namespace
}  // namespace attn::server
