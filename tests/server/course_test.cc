#include "server/routes/course.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "server/routes/api.h"
#include "tests/server/test_page.h"

namespace attn::server {
namespace {

using nlohmann::json;

class Course : public testing::Test {
 protected:
  Response get(const std::string& path, const Query& query = {}) {
    return Api(store_).response({.path = "/api/lessons" + path, .query = query});
  }
  Response post(const std::string& path, const json& body) { return post_text(path, body.dump()); }
  Response post_text(const std::string& path, const std::string& body) {
    return Api(store_).response({.method = "POST", .path = "/api/lessons" + path, .query = {}, .body = body});
  }
  json body_of(const Response& response) {
    EXPECT_EQ(response.status, 200) << (response.body ? *response.body : "");
    return json::parse(*response.body);
  }
  void expect_refused(const Response& response, int status, const std::string& said) {
    EXPECT_EQ(response.status, status);
    const std::string error = json::parse(*response.body)["error"];
    EXPECT_NE(error.find(said), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }

  std::shared_ptr<ThreadPool> pool_ = std::make_shared<ThreadPool>(2);
  RecordingStore store_{[this] { return pool_; }, 8 << 20};
};

TEST_F(Course, IsListedInBothLanguagesInTheSameOrder) {
  const json english = body_of(get(""))["lessons"], chinese = body_of(get("", {{"lang", "zh"}}))["lessons"];
  ASSERT_EQ(english.size(), 24U);
  EXPECT_EQ(english[0]["name"], "rnn-or-attention");
  for (std::size_t n = 0; n < english.size(); ++n) {
    EXPECT_EQ(english[n]["name"], chinese[n]["name"]);
    EXPECT_NE(english[n]["title"], "");
    EXPECT_GT(english[n]["minutes"].get<int>(), 0);
  }
  expect_refused(get("", {{"lang", "fr"}}), 400, "lang must be en or zh");
}

TEST_F(Course, EveryLessonHasItsOwnDataAndItsFigures) {
  const json course = body_of(get(""));
  for (const json& one : course["lessons"]) {
    const std::string name = one["name"];
    if (name == "speed" || name == "linear") continue;  // they take seconds to measure
    const json page = body_of(get("/" + name, {{"lang", "zh"}}));
    EXPECT_EQ(page["language"], "zh");
    EXPECT_FALSE(page["steps"].empty()) << name;
    for (const json& step : page["steps"])
      for (const json& block : step["blocks"])
        if (block.value("how", "") == "figure") {
          EXPECT_TRUE(page["figures"].contains(block["text"])) << name << " " << block;
        }
    for (const auto& [title, figure] : page["figures"].items())
      EXPECT_NE(figure.get<std::string>().find("<svg"), std::string::npos) << name << " " << title;
    EXPECT_FALSE(page["data"].contains("model")) << name;
  }
}

TEST_F(Course, TheReadersSettingsAndDataReachTheNumbers) {
  const json body = {{"settings", {{"d_k", 64}}}, {"lang", "en"}};
  const json page = body_of(post("/why-scale", body));
  EXPECT_EQ(page["settings"][0]["value"], 64);
  EXPECT_DOUBLE_EQ(page["arrays"]["root"]["numbers"], 8);

  const json data = {{"data", {{"X", {{1, 2}, {3, 4}}}, {"W_v", {{1, 0}, {0, 1}}}}}};
  const json own = body_of(post("/deep-ml-53", data));
  EXPECT_EQ(own["data"]["X"], data["data"]["X"]);
  // softmax([5, 11] / sqrt(2)), computed by hand
  const double first = 1 / (1 + std::exp(6 / std::sqrt(2)));
  EXPECT_NEAR(own["arrays"]["weights"]["numbers"][0][0].get<double>(), first, 1e-6);
  EXPECT_NEAR(own["arrays"]["output"]["numbers"][0][0].get<double>(), first + 3 * (1 - first), 1e-5);
}

TEST_F(Course, InfinityAndNanAreNamedInJson) {
  const json page = body_of(get("/masks"));
  const json& added = page["arrays"]["added4"];
  EXPECT_TRUE(added["numbers"][0][1].is_null());
  ASSERT_EQ(added["not_finite"].size(), 6U);
  EXPECT_EQ(added["not_finite"][0], "-inf");
  EXPECT_FALSE(page["arrays"]["weights"].contains("not_finite"));
}

TEST_F(Course, AnswersAreChecked) {
  const json right = body_of(post("/why-scale/answer", {{"step", "exercise"}, {"question", 0}, {"answer", 22.63}}));
  EXPECT_EQ(right["right"], true);
  EXPECT_NEAR(right["number"].get<double>(), std::sqrt(512), 1e-9);
  const json wrong = body_of(post("/why-scale/answer", {{"step", "exercise"}, {"answer", 20}}));
  EXPECT_EQ(wrong["right"], false);
  EXPECT_NEAR(wrong["off_by"].get<double>(), 20 - std::sqrt(512), 1e-9);
  const json settings = {{"step", "exercise"}, {"answer", 4}, {"settings", {{"d_k", 16}}}};
  EXPECT_EQ(body_of(post("/why-scale/answer", settings))["right"], true);
}

TEST_F(Course, AnAnswerMayBeAMatrix) {
  const json page = body_of(get("/deep-ml-53"));
  const json body = {{"step", "weights"}, {"answer", page["arrays"]["output"]["numbers"]}};
  EXPECT_EQ(body_of(post("/deep-ml-53/answer", body))["right"], true);
  const json off = {{"step", "weights"}, {"answer", {{0, 0}, {0, 0}}}};
  EXPECT_EQ(body_of(post("/deep-ml-53/answer", off))["right"], false);
  expect_refused(post("/deep-ml-53/answer", {{"step", "weights"}, {"answer", {{0, 0}}}}), 400, "expected [2, 2]");
}

TEST_F(Course, ErrorsAreOneLine) {
  expect_refused(get("/nothing"), 404, "there is no lesson 'nothing'");
  expect_refused(get("/masks", {{"d_k", "3"}}), 400, "only: lang");
  expect_refused(post_text("/masks", "[1]"), 400, "must be a JSON object");
  expect_refused(post("/masks", {{"seed", 1}}), 400, "only: lang, settings, data");
  expect_refused(post("/masks", {{"settings", {{"n", 65}}}}), 400, "from 4 to 64");
  expect_refused(post("/masks", {{"settings", {{"n", "8"}}}}), 400, "n must be a number");
  expect_refused(post("/masks", {{"settings", {{"m", 8}}}}), 400, "choose from n, window");
  expect_refused(post("/masks", {{"data", {{"nothing", {{1}}}}}}), 400, "has no 'nothing'");
  expect_refused(post("/masks", {{"data", {{"mask", {{1}}}}}}), 400, "mask must be a string");
  expect_refused(post("/masks", {{"data", {{"added", "causal"}}}}), 400, "added must be numbers");
  expect_refused(post("/masks", {{"data", {{"mask", "windw(2)"}}}}), 400, "windw");
  expect_refused(post("/masks", {{"lang", 3}}), 400, "lang must be a string");
  expect_refused(post("/why-scale/answer", {{"step", "nowhere"}, {"answer", 1}}), 400, "no step 'nowhere'");
  expect_refused(post("/why-scale/answer", {{"step", "exercise"}, {"question", 1}, {"answer", 1}}), 400,
                 "no such question");
  expect_refused(post("/why-scale/answer", {{"step", "exercise"}}), 400, "answer must be a number");
}

TEST_F(Course, RejectsLargeDataBeforeReadingIt) {
  const json side = json::array({json(std::vector<int>(65, 1))});
  expect_refused(post("/trace", {{"data", {{"X", side}}}}), 413, "64 x 64");
  expect_refused(post("/text-attention", {{"data", {{"text", std::string(2001, 'a')}}}}), 413, "2000 bytes");
  expect_refused(post("/trace", {{"data", {{"words", std::vector<std::string>(65, "a")}}}}), 413, "64 x 64");
  const std::string deep(500'000, '[');
  expect_refused(post_text("/trace", "{\"data\":{\"X\":" + deep + std::string(500'000, ']') + "}}"), 400,
                 "nested more than 64 levels deep");
}

TEST_F(Course, NoRequestNamesAFile) {
  expect_refused(post("/bert", {{"data", {{"model", "/etc"}}}}), 403, "only in the terminal");
  expect_refused(post("/imdb", {{"data", {{"data", "/etc/passwd"}}}}), 403, "only in the terminal");
}

TEST(CoursePage, IsThePage) {
  EXPECT_EQ(*test::test_page().response("/learn").body, *test::test_page().response("/").body);
  EXPECT_EQ(test::test_page().response("/learn/masks").status, 404);
}

}  // namespace
}  // namespace attn::server
