#include "server/http/gate.h"

#include <gtest/gtest.h>

#include <string>

namespace attn::server {
namespace {

// 0: let through.
int gate_status(const std::string& header) {
  try {
    static_cast<void>(read_request_header(header + "\r\n"));
    return 0;
  } catch (const Refusal& refused) {
    EXPECT_FALSE(refused.what.empty());
    return refused.status;
  }
}

const std::string kGetHeader = "GET /api/recordings HTTP/1.1\r\nHost: localhost\r\n";
const std::string kPostHeader =
    "POST /api/recordings HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";

TEST(Gate, LetsThroughWhatThePageSends) {
  EXPECT_EQ(gate_status(kGetHeader), 0);
  EXPECT_EQ(gate_status("GET / HTTP/1.0\r\nHost: localhost\r\n"), 0);
  const RequestHeader header =
      read_request_header(kPostHeader + "Accept: text/event-stream\r\nCookie: a=b\r\nContent-Length:  12 \r\n\r\n");
  EXPECT_EQ(header.method, "POST");
  EXPECT_EQ(header.target, "/api/recordings");
  EXPECT_EQ(header.body_bytes, 12U);
  EXPECT_EQ(header.text(),
            "POST /api/recordings HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            "accept: text/event-stream\r\n\r\n");
}

TEST(Gate, OnlyHttpGetsIn) {
  for (const char* line : {"GARBAGE", "", "GET / HTTP/2.0", "GET /  HTTP/1.1", "GET  HTTP/1.1", "GET HTTP/1.1",
                           "GET x HTTP/1.1", "GET http://localhost/ HTTP/1.1", "GET /a b HTTP/1.1", "G\x01T / HTTP/1.1",
                           "GET /\x7f HTTP/1.1", "GET / HTTP/1.1\n", " GET / HTTP/1.1"})
    EXPECT_EQ(gate_status(std::string(line) + "\r\nHost: localhost\r\n"), 400) << line;
}

TEST(Gate, HeadersMustHaveOneMeaning) {
  for (const char* line : {"Host: localhost", "host: evil.example", "No colon", ": empty", "Bad name: x", "Space : x",
                           " folded: x", "X: a\nHost: b", "X: \x01", "Content-Length: 1\r\nContent-Length: 2",
                           "Origin: http://localhost\r\nOrigin: http://localhost"})
    EXPECT_EQ(gate_status(kGetHeader + line + "\r\n"), 400) << line;
  EXPECT_EQ(gate_status(kGetHeader + std::string("X: \0", 4) + "\r\n"), 400);
  for (const char* length : {"", "-1", "+1", "0x10", "1,1", "1 1", "1.0"})
    EXPECT_EQ(gate_status(kPostHeader + "Content-Length: " + length + "\r\n"), 400) << length;
}

TEST(Gate, TheGuardComesBeforeTheBody) {
  const std::string body = "Content-Length: 99999999999999999999999\r\nTransfer-Encoding: chunked\r\n";
  EXPECT_EQ(gate_status("POST / HTTP/1.1\r\nHost: evil.example\r\n" + body), 403);
  EXPECT_EQ(gate_status("POST / HTTP/1.1\r\n" + body), 403);
  EXPECT_EQ(gate_status(kPostHeader + "Origin: http://evil.example\r\n" + body), 403);
  EXPECT_EQ(gate_status(kPostHeader + "Sec-Fetch-Site: cross-site\r\n" + body), 403);
}

TEST(Gate, ABodyIsPlainAndItsLengthIsKnown) {
  EXPECT_EQ(gate_status(kPostHeader), 411);
  EXPECT_EQ(gate_status(kPostHeader + "Transfer-Encoding: chunked\r\n"), 411);
  EXPECT_EQ(gate_status(kPostHeader + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n"), 411);
  EXPECT_EQ(gate_status(kGetHeader + "Transfer-Encoding: gzip\r\n"), 411);
  for (const char* encoding : {"gzip", "br", "deflate", "identity, gzip"})
    EXPECT_EQ(gate_status(kPostHeader + "Content-Length: 2\r\nContent-Encoding: " + encoding + "\r\n"), 415)
        << encoding;
  EXPECT_EQ(gate_status(kPostHeader + "Content-Length: 2\r\nContent-Encoding: Identity\r\n"), 0);
  EXPECT_EQ(gate_status(kPostHeader + "Content-Length: " + std::to_string(kMostBody) + "\r\n"), 0);
  EXPECT_EQ(gate_status(kPostHeader + "Content-Length: " + std::to_string(kMostBody + 1) + "\r\n"), 413);
  EXPECT_EQ(gate_status(kPostHeader + "Content-Length: 99999999999999999999999\r\n"), 413);
}

TEST(Gate, TheHeadHasALimitEvenWhileItArrives) {
  EXPECT_FALSE(too_long("GET /" + std::string(8'000, 'x')));
  EXPECT_EQ(too_long("GET /" + std::string(9'000, 'x'))->status, 414);
  EXPECT_EQ(too_long(kGetHeader + "X: " + std::string(33'000, 'x'))->status, 431);
  EXPECT_EQ(gate_status("GET /" + std::string(9'000, 'x') + " HTTP/1.1\r\nHost: localhost\r\n"), 414);
  EXPECT_EQ(gate_status(kGetHeader + "X: " + std::string(33'000, 'x') + "\r\n"), 431);
  std::string many = kGetHeader;
  for (int n = 0; n < 100; ++n) many += "X: y\r\n";
  EXPECT_EQ(gate_status(many), 431);
}

TEST(Gate, ARefusalIsAWholeResponse) {
  const std::string text = refusal_text({411, "a POST needs a Content-Length"});
  EXPECT_TRUE(text.starts_with("HTTP/1.1 411 Length Required\r\n"));
  EXPECT_NE(text.find("Content-Security-Policy: default-src 'none'"), std::string::npos);
  EXPECT_NE(text.find("Connection: close\r\n"), std::string::npos);
  EXPECT_TRUE(text.ends_with("\r\n\r\n{\"error\":\"a POST needs a Content-Length\"}\n")) << text;
  EXPECT_TRUE(refusal_text({411, "a"}, false).ends_with("\r\n\r\n"));
}

}  // namespace
}  // namespace attn::server
