#include "server/http/guard.h"

#include <gtest/gtest.h>

namespace attn::server {
namespace {

bool let_in(const RequestOrigin& from) { return refusal(from).empty(); }

TEST(Guard, AcceptsOnlyThisMachineAsHost) {
  for (const char* host : {"127.0.0.1:7865", "localhost:7865", "localhost", "127.0.0.1", "localhost:9"})
    EXPECT_TRUE(let_in({.host = host, .path = "/"})) << host;
  for (const char* host : {"", "evil.example", "evil.example:7865", "127.0.0.1.evil.example", "localhost.evil.example",
                           "127.0.0.1:", "localhost:x", "127.0.0.2:7865", "0.0.0.0:7865", "localhost:1:2", ":7865"})
    EXPECT_FALSE(let_in({.host = host, .path = "/"})) << host;
}

TEST(Guard, AcceptsOnlyThePagesOwnOrigin) {
  const auto from = [](const char* origin) {
    return let_in({.host = "127.0.0.1:7865", .origin = origin, .path = "/api/recordings"});
  };
  EXPECT_TRUE(from(""));
  EXPECT_TRUE(from("http://127.0.0.1:7865"));
  for (const char* other : {"http://127.0.0.1:7866", "http://localhost:7865", "https://127.0.0.1:7865", "null",
                            "http://evil.example", "http://127.0.0.1:7865.evil.example"})
    EXPECT_FALSE(from(other)) << other;
}

TEST(Guard, AnotherSiteMayLoadThePageButNotTheApi) {
  const auto from = [](const char* site, const char* path) {
    return let_in({.host = "localhost:7865", .fetch_site = site, .path = path});
  };
  EXPECT_TRUE(from("cross-site", "/"));  // in a notebook's frame
  EXPECT_FALSE(from("cross-site", "/api/recordings"));
  EXPECT_FALSE(from("same-site", "/api/recordings/1/row"));
  EXPECT_TRUE(from("same-origin", "/api/recordings"));
  EXPECT_TRUE(from("none", "/api/recordings"));  // typed into the address bar
}

TEST(Guard, OnlyHashedFilesAreCachedForever) {
  EXPECT_STREQ(caching_of("/assets/index-C0ffee.js", 200), "public, max-age=31536000, immutable");
  EXPECT_STREQ(caching_of("/assets/index-C0ffee.js", 404), "no-store");
  EXPECT_STREQ(caching_of("/", 200), "no-cache");
  EXPECT_STREQ(caching_of("/api/recordings", 200), "no-store");
}

}  // namespace
}  // namespace attn::server
