#include "server/store/comparisons.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "insight/io/json.h"
#include "server/routes/api.h"
#include "tests/insight/random_rows.h"
#include "tests/support/looking.h"

namespace attn::server {
namespace {

using insight::InMemoryTables;
using nlohmann::json;

class Comparing : public testing::Test {
 protected:
  Comparing() {
    store_.add("a", golden_.shared("a"));
    store_.add("b", golden_.shared("b"));
  }
  Response get(const std::string& what, const Query& more = {}) {
    Query query = more;
    query.insert({{"a", "1"}, {"b", "2"}});
    return Api(store_).response({.path = "/api/compare" + what, .query = query});
  }
  std::string refused(const Response& response, int status) {
    EXPECT_EQ(response.status, status);
    return json::parse(*response.body)["error"];
  }
  static std::vector<float> floats(const Response& response) {
    std::vector<float> numbers(response.body->size() / sizeof(float));
    std::memcpy(numbers.data(), response.body->data(), response.body->size());
    return numbers;
  }

  test::Looking golden_;
  std::shared_ptr<ThreadPool> pool_ = std::make_shared<ThreadPool>(2);
  RecordingStore store_{[this] { return pool_; }, 1 << 20};
};

TEST_F(Comparing, AlignsTokensAndMeasuresTheChangeOfHeads) {
  const json found = json::parse(*get("").body);
  EXPECT_EQ(found["stacks"][0]["query_pairs"], golden_["pairs"]);
  EXPECT_EQ(found["stacks"][0]["key_pairs"], golden_["pairs"]);
  EXPECT_EQ(found["stacks"][0]["queries"], 12);
  const InMemoryTables a = golden_.tables("a"), b = golden_.tables("b");
  const insight::Json expected = insight::to_json(insight::compare(a, b, *pool_), a, b);
  EXPECT_EQ(found["heads"].dump(), json::parse(expected["heads"].dump()).dump());
  EXPECT_FALSE(found["rule"].get<std::string>().empty());
}

TEST_F(Comparing, MapTilesOfEveryLevelMatchNumpy) {
  for (std::size_t level = 0; level < 5; ++level) {
    const json& expected = golden_["difference_bytes"][level];
    const Response tile =
        get("/tile", {{"layer", "0"}, {"head", "0"}, {"level", std::to_string(level)}, {"row", "0"}, {"column", "0"}});
    ASSERT_EQ(tile.status, 200);
    ASSERT_EQ(tile.body->size(), expected.size() * expected.size());
    for (std::size_t n = 0; n < tile.body->size(); ++n)
      EXPECT_EQ(static_cast<unsigned char>((*tile.body)[n]),
                expected[n / expected.size()][n % expected.size()].get<int>())
          << level << " " << n;
  }
}

TEST_F(Comparing, RowsAndColumnsAreExactAndNanWhereNothingIsAligned) {
  const std::vector<float> row = floats(get("/row", {{"layer", "0"}, {"head", "0"}, {"row", "4"}}));
  const std::vector<float> column = floats(get("/column", {{"layer", "0"}, {"head", "0"}, {"column", "9"}}));
  ASSERT_EQ(row.size(), 12U);
  for (std::size_t n = 0; n < 12; ++n) {
    const json &in_row = golden_["difference"][4][n], &in_column = golden_["difference"][n][9];
    EXPECT_EQ(std::isnan(row[n]), in_row.is_null());
    EXPECT_EQ(std::isnan(column[n]), in_column.is_null());
    EXPECT_TRUE(in_row.is_null() || std::abs(row[n] - in_row.get<double>()) < 1e-7);
    EXPECT_TRUE(in_column.is_null() || std::abs(column[n] - in_column.get<double>()) < 1e-7);
  }
}

TEST_F(Comparing, ThumbnailsOfAShortTextAreItsMapTile) {
  const Response all = get("/thumbnails", {{"kind", "self"}});
  EXPECT_EQ(*all.body,
            *get("/tile", {{"layer", "0"}, {"head", "0"}, {"level", "0"}, {"row", "0"}, {"column", "0"}}).body);
}

TEST_F(Comparing, RejectsWhatCannotBeCompared) {
  const auto other = std::make_shared<InMemoryTables>(test::RandomRows{.layers = 2, .heads = 3, .n = 4}.table_data(),
                                                      std::vector<std::string>{}, std::vector<std::string>{});
  store_.add("other", other);
  EXPECT_NE(refused(get("", {{"b", "3"}}), 409).find("only attention of the same shape can be compared"),
            std::string::npos);
  EXPECT_EQ(refused(get("", {{"b", "77"}}), 404), "there is no recording '77'");
  EXPECT_EQ(refused(Api(store_).response({.path = "/api/compare", .query = {{"a", "1"}}}), 400),
            "b must be the id of a recording");
  EXPECT_EQ(refused(get("/row", {{"layer", "0"}, {"head", "1"}, {"row", "0"}}), 400),
            "there is no head 1: heads count from 0 to 0");
  EXPECT_EQ(refused(get("/row", {{"layer", "0"}, {"head", "0"}, {"row", "12"}}), 400),
            "there is no row 12: rows count from 0 to 11");
}

TEST_F(Comparing, KeepsTheLatestAndMakesOthersAgain) {
  Comparisons kept;
  const auto stored = [&](const std::string& id) { return store_.find(id); };
  const auto first = kept.get({stored("1"), stored("2"), false}, *pool_, {});
  EXPECT_EQ(kept.get({stored("1"), stored("2"), false}, *pool_, {}), first);
  EXPECT_NE(kept.get({stored("2"), stored("1"), false}, *pool_, {}), first);
  for (const auto& [a, b, words] : {std::tuple{"1", "1", false}, {"2", "2", false}, {"2", "1", true}})
    static_cast<void>(kept.get({stored(a), stored(b), words}, *pool_, {}));
  EXPECT_NE(kept.get({stored("1"), stored("2"), false}, *pool_, {}), first) << "that was the fifth";
  const auto again = kept.get({stored("2"), stored("2"), false}, *pool_, {});
  kept.forget("1");
  EXPECT_EQ(kept.get({stored("2"), stored("2"), false}, *pool_, {}), again);
  kept.forget("2");
  EXPECT_NE(kept.get({stored("2"), stored("2"), false}, *pool_, {}), again);
}

TEST_F(Comparing, CancelledWorkStartsAgain) {
  Comparisons kept;
  const Pair pair{store_.find("1"), store_.find("2"), false};
  EXPECT_THROW(static_cast<void>(kept.get(pair, *pool_, [](std::int64_t, std::int64_t) { throw Cancelled(); })),
               Cancelled);
  EXPECT_EQ(kept.get(pair, *pool_, {})->found.heads.size(), 1U);
}

}  // namespace
}  // namespace attn::server
