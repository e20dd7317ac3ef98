#include "server/http/server.h"

#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/insight/random_rows.h"
#include "tests/server/raw_client.h"
#include "tests/server/test_page.h"

namespace attn::server {
namespace {

using test::RawClient;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

ServerOptions options(std::optional<int> port = 0) {
  auto pool = std::make_shared<ThreadPool>(2);
  return {.page = test::test_page(), .pool = [pool] { return pool; }, .port = port};
}

std::shared_ptr<const insight::AttentionTables> table_data(const test::RandomRows& rows) {
  return std::make_shared<insight::InMemoryTables>(rows.table_data(), std::vector<std::string>{},
                                                   std::vector<std::string>{});
}

// Tables that take longer than any client waits.
class SlowTables final : public insight::AttentionTables {
 public:
  SlowTables() : AttentionTables({{insight::Kind::self, 20, 20, 4, 4}}), tokens_(4) {}
  using AttentionTables::weights;
  [[nodiscard]] const std::vector<text::Token>& queries(insight::Kind) const noexcept override { return tokens_; }
  [[nodiscard]] const std::vector<text::Token>& keys(insight::Kind) const noexcept override { return tokens_; }
  void weights(const insight::HeadId&, Rectangle, View<float, 2> out, ThreadPool&) const override {
    begun = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (std::int64_t i = 0; i < out.shape[0]; ++i) std::fill_n(out.at(i), out.shape[1], 0.25F);
  }
  [[nodiscard]] bool causal(const insight::HeadId&) const override { return false; }

  mutable std::atomic<bool> begun = false;

 private:
  std::vector<text::Token> tokens_;
};

class OneServer : public testing::Test {
 protected:
  OneServer() : server_(options()), client_("127.0.0.1", server_.port()) {
    server_.add("tables", table_data({.n = 40}));
  }

  // The status line's number.
  int status_of(const std::string& request) { return RawClient(server_.port()).ask(request).status; }

  Server server_;
  httplib::Client client_;
};

TEST_F(OneServer, ServesThePageAndItsFiles) {
  const auto page = client_.Get("/");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->status, 200);
  EXPECT_EQ(page->get_header_value("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(page->get_header_value("Cache-Control"), "no-cache");
  EXPECT_NE(page->body.find("page"), std::string::npos);
  const auto script = client_.Get("/assets/main-abc.js");
  EXPECT_EQ(script->get_header_value("Content-Type"), "text/javascript; charset=utf-8");
  EXPECT_EQ(script->get_header_value("Cache-Control"), "public, max-age=31536000, immutable");
  EXPECT_EQ(client_.Get("/index.html")->status, 200);
  EXPECT_EQ(client_.Get("/offline.html")->status, 404);
  EXPECT_EQ(client_.Head("/")->status, 200);
}

TEST_F(OneServer, EveryResponseCarriesTheSecurityHeaders) {
  for (const char* path : {"/", "/nothing", "/api/recordings", "/api/nothing", "/assets/main-abc.js"}) {
    const auto response = client_.Get(path);
    EXPECT_EQ(response->get_header_value("X-Content-Type-Options"), "nosniff") << path;
    EXPECT_EQ(response->get_header_value_count("Cache-Control"), 1U) << path;
    const std::string policy = response->get_header_value("Content-Security-Policy");
    EXPECT_NE(policy.find("default-src 'none'; script-src 'self'; style-src 'self';"), std::string::npos) << path;
    EXPECT_EQ(response->get_header_value("Cross-Origin-Resource-Policy"), "same-origin") << path;
  }
  EXPECT_EQ(client_.Get("/api/recordings")->get_header_value("Cache-Control"), "no-store");
}

TEST_F(OneServer, ServesTheApi) {
  const auto tile = client_.Get("/api/recordings/1/tile?layer=0&head=0&level=0&row=0&column=0");
  EXPECT_EQ(tile->get_header_value("X-Shape"), "40,40");
  EXPECT_EQ(tile->body.size(), 1600U);
  EXPECT_EQ(client_.Get("/api/recordings/1/row?layer=0&head=0&row=40")->status, 400);
  EXPECT_EQ(client_.Get("/api/recordings/9")->status, 404);
}

TEST_F(OneServer, CompressesTextForClientsThatAcceptIt) {
  const auto plain = client_.Get("/api/recordings/1", {{"Accept-Encoding", "identity"}});
  EXPECT_FALSE(plain->has_header("Content-Encoding"));
  const auto packed =
      client_.Get("/api/recordings/1", {{"Accept-Encoding", "gzip, br"}});  // decompressed by the client
  EXPECT_EQ(packed->get_header_value("Content-Encoding"), "gzip");
  EXPECT_LT(std::stoul(packed->get_header_value("Content-Length")), plain->body.size() / 2);
  EXPECT_EQ(packed->body, plain->body);
}

TEST_F(OneServer, RejectsAnotherHost) {
  const auto with = [&](const std::string& headers) { return status_of("GET /api/recordings HTTP/1.1\r\n" + headers); };
  EXPECT_EQ(with("Host: 127.0.0.1\r\n"), 200);
  EXPECT_EQ(with("Host: localhost:7865\r\n"), 200);
  EXPECT_EQ(with("Host: evil.example\r\n"), 403);
  EXPECT_EQ(with("Host: evil.example:7865\r\n"), 403);
  EXPECT_EQ(with(""), 403);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: evil.example\r\n"), 403);
}

TEST_F(OneServer, RejectsAnotherOrigin) {
  const auto from = [&](const std::string& origin) {
    return status_of("GET /api/recordings HTTP/1.1\r\nHost: localhost:80\r\nOrigin: " + origin + "\r\n");
  };
  EXPECT_EQ(from("http://localhost:80"), 200);
  EXPECT_EQ(from("http://evil.example"), 403);
  EXPECT_EQ(from("null"), 403);
  EXPECT_EQ(status_of("GET /api/recordings HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\n"), 403);
}

TEST_F(OneServer, NoPathReachesAFile) {
  for (const char* path : {"/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/etc/passwd",
                           "/assets/../index.html", "/assets/..%2findex.html", "/assets/", "/assets", "/index.html/",
                           "/api/recordings/../../index.html", "/assets/main-abc.js%00.html"}) {
    EXPECT_EQ(status_of(std::string("GET ") + path + " HTTP/1.1\r\nHost: localhost\r\n"), 404) << path;
  }
}

TEST_F(OneServer, APostMustBeJsonForARouteThatTakesIt) {
  const std::string local = " HTTP/1.1\r\nHost: localhost\r\n", content = "Content-Type: application/json\r\n";
  EXPECT_EQ(status_of("POST /api/recordings" + local + "Content-Length: 2\r\n\r\nhi"), 415);
  EXPECT_EQ(status_of("POST /api/recordings" + local + "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\nhi"), 415);
  EXPECT_EQ(status_of("POST /api/recordings" + local + content + "Content-Length: 2\r\n\r\nhi"), 400);
  EXPECT_EQ(status_of("POST /api/recordings/1" + local + content + "Content-Length: 2\r\n\r\n{}"), 405);
  EXPECT_EQ(status_of("POST /" + local + content + "Content-Length: 2\r\n\r\n{}"), 405);
  EXPECT_EQ(status_of("PUT /" + local + "Content-Length: 2\r\n\r\nhi"), 405);
  EXPECT_EQ(status_of("DELETE /api/recordings/1" + local), 405);
  EXPECT_EQ(status_of("OPTIONS /api/recordings" + local), 405);
  const std::string large(2'200'000, 'x');
  EXPECT_EQ(client_.Post("/api/recordings", large, "application/json")->status, 413);
  EXPECT_EQ(status_of("GARBAGE\r\n"), 400);
  EXPECT_EQ(client_.Get("/" + std::string(10'000, 'x'))->status, 414);
}

TEST_F(OneServer, APutMustBeBytesOfAFile) {
  const std::string local = " HTTP/1.1\r\nHost: localhost\r\n", length = "Content-Length: 2\r\n\r\nhi";
  const std::string piece = "PUT /api/files/1?name=t.csv&offset=0" + local;
  EXPECT_EQ(status_of(piece + "Content-Type: application/octet-stream\r\n" + length), 200);
  EXPECT_EQ(status_of(piece + "Content-Type: text/plain\r\n" + length), 415);
  EXPECT_EQ(status_of(piece + length), 415);
  EXPECT_EQ(status_of("PUT /api/recordings" + local + "Content-Type: application/octet-stream\r\n" + length), 405);
  EXPECT_EQ(status_of("PUT /api/files/1?name=..%2Ft&offset=0" + local + "Content-Type: application/octet-stream\r\n" +
                      length),
            400);
  const std::string large(2'200'000, 'x');
  EXPECT_EQ(client_.Put("/api/files/1?name=t.csv&offset=2", large, "application/octet-stream")->status, 413);
}

TEST_F(OneServer, RejectsAPostFromAnotherSite) {
  const auto from = [&](const std::string& headers) {
    return status_of("POST /api/recordings HTTP/1.1\r\nHost: localhost:80\r\nContent-Type: application/json\r\n" +
                     headers + "Content-Length: 2\r\n\r\n{}");
  };
  EXPECT_EQ(from(""), 400);
  EXPECT_EQ(from("Origin: http://localhost:80\r\n"), 400);
  EXPECT_EQ(from("Origin: http://evil.example\r\n"), 403);
  EXPECT_EQ(from("Origin: http://localhost:81\r\n"), 403);
  EXPECT_EQ(from("Origin: null\r\n"), 403);
  EXPECT_EQ(from("Sec-Fetch-Site: cross-site\r\n"), 403);
  EXPECT_EQ(from("Sec-Fetch-Site: same-site\r\n"), 403);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0\r\n"), 403);
}

TEST_F(OneServer, ABodyIsNotMistakenForTheNextRequest) {
  const std::string inside = "GET /api/recordings HTTP/1.1\r\nHost: localhost\r\n\r\n";
  RawClient client(server_.port());
  const RawClient::Response first = client.ask(
      "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(inside.size()) + "\r\n\r\n" + inside);
  EXPECT_EQ(first.status, 405);
  client.send("GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const std::string rest = client.read_all();
  EXPECT_TRUE(rest.starts_with("HTTP/1.1 404")) << rest;
  EXPECT_EQ((first.body + rest).find("\"specimens\""), std::string::npos);
}

TEST_F(OneServer, OneConnectionServesManyRequests) {
  client_.set_keep_alive(true);
  for (int n = 0; n < 50; ++n) ASSERT_EQ(client_.Get("/api/recordings/1/row?layer=0&head=0&row=3")->body.size(), 160U);
}

TEST(ServerPorts, ByDefaultTakesTheNextFreePort) {
  const Server first(options(std::nullopt)), second(options(std::nullopt));
  EXPECT_GE(first.port(), kDefaultPort);
  EXPECT_GT(second.port(), first.port());
  EXPECT_EQ(second.url(), "http://127.0.0.1:" + std::to_string(second.port()) + "/");
}

TEST(ServerPorts, ErrorForAPortInUseNamesIt) {
  const Server first(options());
  try {
    const Server second(options(first.port()));
    FAIL() << "two servers on one port";
  } catch (const std::runtime_error& taken) {
    EXPECT_EQ(std::string(taken.what()), "port " + std::to_string(first.port()) +
                                             " cannot be used: another program has it, or it needs more privileges");
  }
}

TEST(ServerPorts, AStoppedServerReleasesItsPort) {
  int port = 0;
  for (int n = 0; n < 5; ++n) {
    Server server(options(port));
    port = server.port();
    EXPECT_EQ(httplib::Client("127.0.0.1", port).Get("/")->status, 200);
    server.stop();
    server.stop();
  }
  EXPECT_FALSE(httplib::Client("127.0.0.1", port).Get("/"));
}

TEST(ServerPorts, ListensOnThisMachineOnly) {
  const Server server(options());
  EXPECT_TRUE(RawClient::can_connect("127.0.0.1", server.port()));
  EXPECT_FALSE(RawClient::can_connect("127.0.0.2", server.port()));  // would succeed if it listened everywhere
}

TEST(ServerUnderLoad, ServesTwoHundredClientsAtOnce) {
  Server server(options());
  server.add("tables", table_data({.layers = 2, .heads = 2, .n = 300}));
  std::vector<std::unique_ptr<RawClient>> clients;
  const auto begin = Clock::now();
  for (int n = 0; n < 200; ++n) clients.push_back(std::make_unique<RawClient>(server.port()));
  for (int n = 0; n < 200; ++n) {
    const std::string row = std::to_string(n);
    clients[static_cast<std::size_t>(n)]->send("GET /api/recordings/1/row?layer=1&head=0&row=" + row +
                                               " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  for (const auto& client : clients) {
    const RawClient::Response response = client->read_response();
    ASSERT_EQ(response.status, 200);
    ASSERT_EQ(response.body.size(), 1200U);
  }
  EXPECT_LT(seconds_since(begin), 5);
}

TEST(ServerUnderLoad, SlowAndSilentClientsDoNotBlockOthers) {
  Server server(options());
  server.add("tables", table_data({.layers = 40, .heads = 40, .n = 64}));  // 6.5 MB of thumbnails
  std::vector<std::unique_ptr<RawClient>> slow;
  for (int n = 0; n < 100; ++n) {
    slow.push_back(std::make_unique<RawClient>(server.port(), 4096));
    if (n % 2 == 0) slow.back()->send("GET /api/recordings/1/thumbnails HTTP/1.1\r\nHost: localhost\r\n\r\n");
    if (n % 4 == 1) slow.back()->send("GET / HTT");  // and no more
  }
  const auto begin = Clock::now();
  for (int n = 0; n < 20; ++n)
    ASSERT_EQ(RawClient(server.port()).ask("GET /api/recordings HTTP/1.1\r\nHost: localhost\r\n").status, 200);
  EXPECT_LT(seconds_since(begin), 2);
  const auto end = Clock::now();
  server.stop();
  EXPECT_LT(seconds_since(end), 1);
}

TEST(ServerUnderLoad, StoppingCancelsLongWork) {
  Server server(options());
  const auto tables = std::make_shared<SlowTables>();
  server.add("slow", tables);
  RawClient client(server.port());
  client.send("GET /api/recordings/1 HTTP/1.1\r\nHost: localhost\r\n\r\n");  // 4 seconds on two threads
  while (!tables->begun) std::this_thread::yield();
  const auto begin = Clock::now();
  server.stop();
  EXPECT_LT(seconds_since(begin), 1);
}

TEST(ServerUnderLoad, MemoryStaysUnderItsLimit) {
  ServerOptions small = options();
  small.cache_bytes = 200'000;
  Server server(std::move(small));
  server.add("tables", table_data({.layers = 2, .heads = 2, .n = 600}));
  httplib::Client client("127.0.0.1", server.port());
  for (int head = 0; head < 4; ++head) {
    for (int tile = 0; tile < 9; ++tile) {
      const std::string place = "layer=" + std::to_string(head / 2) + "&head=" + std::to_string(head % 2) +
                                "&level=0&row=" + std::to_string(tile / 3) + "&column=" + std::to_string(tile % 3);
      ASSERT_EQ(client.Get("/api/recordings/1/tile?" + place)->status, 200);
      ASSERT_LE(server.cached_bytes(), 200'000);
    }
  }
  EXPECT_GT(server.cached_bytes(), 100'000);
}

}  // namespace
}  // namespace attn::server
