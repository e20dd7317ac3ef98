// Bodies that are made to exhaust the stack, the memory or the time of the server.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "server/routes/api.h"
#include "tests/insight/random_rows.h"

namespace attn::server {
namespace {

class HostileBodies : public testing::Test {
 protected:
  HostileBodies() : pool_(std::make_shared<ThreadPool>(2)), store_([this] { return pool_; }, 1 << 20, {}) {
    store_.add("tables",
               std::make_shared<insight::InMemoryTables>(test::RandomRows{.n = 8}.table_data(),
                                                         std::vector<std::string>{}, std::vector<std::string>{}),
               {});
  }

  // Expects status 400 and this text in the error, from every route that takes a body.
  void expect_refused(const std::string& body, const std::string& part) {
    for (const char* const path : {"/api/recordings", "/api/recordings/1/find", "/api/mask", "/api/lessons/trace",
                                   "/api/lessons/trace/answer"}) {
      const Response response = Api(store_).response({.method = "POST", .path = path, .body = body});
      EXPECT_EQ(response.status, 400) << path;
      EXPECT_NE(response.body->find(part), std::string::npos) << path << ": " << *response.body;
      EXPECT_LT(response.body->size(), 300U) << path;
    }
  }

  std::shared_ptr<ThreadPool> pool_;
  RecordingStore store_;
};

TEST_F(HostileBodies, NestingIsRefused) {
  const std::string open(100'000, '['), close(100'000, ']');
  expect_refused(R"({"model":"x","text":)" + open + close + R"(,"pair":1})", "nested more than 64 levels deep");
  expect_refused(R"({"picture":)" + open + close + "}", "nested more than 64 levels deep");
  expect_refused(R"({"answer":)" + open + close + "}", "nested more than 64 levels deep");
  std::string objects;
  for (int n = 0; n < 100'000; ++n) objects += R"({"a":)";
  expect_refused(objects, "nested more than 64 levels deep");
}

TEST_F(HostileBodies, AnObjectAroundALongListIsRefusedWithoutCopyingIt) {
  std::string body, list(900'000, '0');
  for (std::size_t n = 1; n < list.size(); n += 2) list[n] = ',';
  for (int n = 0; n < 60; ++n) body += R"({"a":)";
  body += "[" + list + "0]";
  for (int n = 0; n < 60; ++n) body += R"(,"b":1,"c":2,"d":3})";
  expect_refused(body, "has more than 300000 values");
}

TEST_F(HostileBodies, ManyMembersAreRefusedInLinearTime) {
  std::string body = "{";
  for (int n = 0; n < 100'000; ++n) body += "\"" + std::to_string(n) + "\":0,";
  expect_refused(body + "\"a\":0}", "has no '0', only: ");
}

TEST_F(HostileBodies, BrokenTextIsNamedAsTheBody) {
  expect_refused("{\"text\": ", "the body, byte 9: not JSON");
  expect_refused(R"({"text": 1e99999})", "the body: contains a number that is out of range: '1e99999'");
  expect_refused("{\"text\": \"\xff\"}", "the body, byte 10: not JSON");
  expect_refused("[1]", "the body must be a JSON object");
}

}  // namespace
}  // namespace attn::server
