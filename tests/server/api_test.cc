#include "server/routes/api.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "insight/tables/words.h"
#include "tests/insight/random_rows.h"

namespace attn::server {
namespace {

using insight::InMemoryTables;
using nlohmann::json;

// The same tables in the server and beside it, to compare with.
class ApiOf : public testing::Test {
 protected:
  explicit ApiOf(test::RandomRows rows = {.layers = 2, .heads = 3, .n = 300, .seed = 6})
      : tables_(std::make_shared<InMemoryTables>(rows.table_data(), std::vector<std::string>{},
                                                 std::vector<std::string>{})),
        pool_(std::make_shared<ThreadPool>(2)),
        store_([this] { return pool_; }, 1 << 20) {
    store_.add("tables", tables_);
  }

  Response get(const std::string& path, const Query& query = {}) {
    return Api(store_).response({.path = "/api/recordings" + path, .query = query});
  }
  json facts() { return json::parse(*get("/1").body); }
  std::string refusal(const std::string& path, const Query& query, int status = 400) {
    const Response response = get(path, query);
    EXPECT_EQ(response.status, status);
    return json::parse(*response.body)["error"];
  }

  std::shared_ptr<const InMemoryTables> tables_;
  std::shared_ptr<ThreadPool> pool_;
  RecordingStore store_;
};

std::vector<float> floats(const Response& response) {
  std::vector<float> numbers(response.body->size() / sizeof(float));
  std::memcpy(numbers.data(), response.body->data(), response.body->size());
  return numbers;
}

int byte_of(float weight) { return static_cast<int>(std::lround(255 * std::sqrt(weight))); }
int byte_at(const Response& response, std::int64_t at) {
  return static_cast<unsigned char>((*response.body)[static_cast<std::size_t>(at)]);
}

TEST_F(ApiOf, ListsAllRecordings) {
  const json list = json::parse(*get("").body);
  EXPECT_EQ(list["version"], ATTNSCOPE_VERSION);
  ASSERT_EQ(list["recordings"].size(), 1U);
  EXPECT_EQ(list["recordings"][0]["id"], "1");
  EXPECT_EQ(list["recordings"][0]["name"], "tables");
  EXPECT_EQ(list["recordings"][0]["tokens"], 300);
  EXPECT_EQ(store_.add("more", tables_), "2");
  EXPECT_EQ(json::parse(*get("").body)["recordings"].size(), 2U);
}

TEST_F(ApiOf, RejectsATableThatHoldsNoWeightsAndKeepsTheOthers) {
  for (const float wrong : {50.0F, -1e-6F, 1.002F, std::nanf(""), HUGE_VALF}) {
    auto table_data = test::RandomRows{.layers = 1, .heads = 2, .n = 70, .seed = 8}.table_data();
    table_data.numbers.row(69 + 70)[69] = wrong;
    const auto other =
        std::make_shared<InMemoryTables>(std::move(table_data), std::vector<std::string>{}, std::vector<std::string>{});
    EXPECT_THROW(store_.add("no weights", other), std::invalid_argument) << wrong;
  }
  EXPECT_EQ(json::parse(*get("").body)["recordings"].size(), 1U);
  EXPECT_EQ(get("/" + store_.add("more", tables_)).status, 200);
}

TEST_F(ApiOf, FactsDescribeEveryHeadAndRankThem) {
  const json all = facts();
  EXPECT_EQ(all["model"], nullptr);
  EXPECT_EQ(all["stacks"][0]["kind"], "self");
  EXPECT_EQ(all["stacks"][0]["queries"], 300);
  EXPECT_EQ(all["stacks"][0]["key_tokens"], nullptr);
  EXPECT_EQ(all["stacks"][0]["query_tokens"].size(), 300U);
  EXPECT_EQ(all["stacks"][0]["thumbnail"]["rows"], 64);
  ASSERT_EQ(all["heads"].size(), 6U);
  std::vector<int> ranking = all["ranking"];
  const json& first = all["heads"][static_cast<std::size_t>(ranking[0])];
  EXPECT_EQ(all["look_at"]["layer"], first["layer"]);
  EXPECT_EQ(all["look_at"]["head"], first["head"]);
  std::ranges::sort(ranking);
  EXPECT_EQ(ranking, (std::vector{0, 1, 2, 3, 4, 5}));
  for (const json& head : all["heads"]) {
    double entropy = 0;
    const nn::Matrix table = tables_->weights({insight::Kind::self, head["layer"], head["head"]}, *pool_);
    for (std::int64_t i = 0; i < 300 * 300; ++i) {
      const double p = table.data()[i];
      entropy -= p > 0 ? p * std::log(p) / 300 : 0;
    }
    EXPECT_NEAR(head["entropy"], entropy, 1e-4);
    EXPECT_EQ(head.count("received"), 0U) << "numbers per token are loaded when a head is opened";
  }
  EXPECT_EQ(std::string(all["rule"]).find('\n'), std::string::npos);
}

TEST_F(ApiOf, ThumbnailsAreTheLargestWeightsOfTheirCells) {
  const Response response = get("/1/thumbnails", {{"kind", "self"}});
  ASSERT_EQ(response.body->size(), 6U * 64 * 64);
  for (std::int64_t n = 0; n < 6; ++n) {
    const nn::Matrix table = tables_->weights({insight::Kind::self, n / 3, n % 3}, *pool_);
    for (std::int64_t r = 0; r < 64; ++r) {
      for (std::int64_t c = 0; c < 64; ++c) {
        float most = 0;
        for (std::int64_t i = r * 300 / 64; i < (r + 1) * 300 / 64; ++i)
          for (std::int64_t j = c * 300 / 64; j < (c + 1) * 300 / 64; ++j) most = std::max(most, table.row(i)[j]);
        ASSERT_EQ(byte_at(response, (n * 64 + r) * 64 + c), byte_of(most)) << n << " " << r << " " << c;
      }
    }
  }
}

TEST_F(ApiOf, AMapTileAtTheEdgeStatesItsShape) {
  const Response response =
      get("/1/tile", {{"layer", "1"}, {"head", "2"}, {"level", "0"}, {"row", "1"}, {"column", "0"}});
  ASSERT_EQ(response.headers.size(), 1U);
  EXPECT_EQ(response.headers[0], std::pair(std::string("X-Shape"), std::string("44,256")));
  ASSERT_EQ(response.body->size(), 44U * 256);
  const nn::Matrix table = tables_->weights({insight::Kind::self, 1, 2}, *pool_);
  for (std::int64_t r = 0; r < 44; ++r)
    for (std::int64_t c = 0; c < 256; ++c) ASSERT_EQ(byte_at(response, r * 256 + c), byte_of(table.row(256 + r)[c]));
}

TEST_F(ApiOf, RowsAndColumnsAreExact) {
  const nn::Matrix table = tables_->weights({insight::Kind::self, 0, 1}, *pool_);
  const Query head{{"kind", "self"}, {"layer", "0"}, {"head", "1"}};
  Query row = head, column = head;
  row["row"] = "299";
  column["column"] = "5";
  EXPECT_EQ(floats(get("/1/row", row)), std::vector<float>(table.row(299), table.row(299) + 300));
  const std::vector<float> found = floats(get("/1/column", column));
  ASSERT_EQ(found.size(), 300U);
  for (std::int64_t i = 0; i < 300; ++i) EXPECT_EQ(found[static_cast<std::size_t>(i)], table.row(i)[5]);
}

TEST_F(ApiOf, AProfileHasSumsAndEntropies) {
  const json profile = json::parse(*get("/1/profile", {{"layer", "1"}, {"head", "0"}}).body);
  const nn::Matrix table = tables_->weights({insight::Kind::self, 1, 0}, *pool_);
  ASSERT_EQ(profile["received"].size(), 300U);
  ASSERT_EQ(profile["entropy"].size(), 300U);
  for (const std::int64_t at : {0, 7, 299}) {
    double sum = 0, entropy = 0;
    for (std::int64_t i = 0; i < 300; ++i) {
      sum += table.row(i)[at];
      entropy -= table.row(at)[i] * std::log(table.row(at)[i]);
    }
    EXPECT_NEAR(profile["received"][static_cast<std::size_t>(at)], sum, 1e-4);
    EXPECT_NEAR(profile["entropy"][static_cast<std::size_t>(at)], entropy, 1e-4);
  }
}

TEST_F(ApiOf, ErrorsAreOneLine) {
  const Query good{{"layer", "0"}, {"head", "0"}, {"row", "0"}};
  const auto with = [&](const char* name, const char* value) {
    Query query = good;
    query[name] = value;
    return query;
  };
  EXPECT_EQ(refusal("/1/row", with("layer", "2")), "there is no layer 2: layers count from 0 to 1");
  EXPECT_EQ(refusal("/1/row", with("head", "-1")), "there is no head -1: heads count from 0 to 2");
  EXPECT_EQ(refusal("/1/row", with("row", "300")), "there is no row 300: rows count from 0 to 299");
  EXPECT_EQ(refusal("/1/row", with("row", "1.5")), "row must be a whole number, not '1.5'");
  EXPECT_EQ(refusal("/1/row", with("row", "")), "row must be a whole number, not ''");
  EXPECT_EQ(refusal("/1/row", with("row", "99999999999999999999")),
            "row must be a whole number, not '99999999999999999999'");
  EXPECT_EQ(refusal("/1/row", with("kind", "cross")), "there is no attention of kind 'cross', only: self");
  EXPECT_EQ(refusal("/1/row", with("kind", "x")), "kind must be self, decoder or cross, not 'x'");
  EXPECT_EQ(refusal("/1/row", with("words", "2")), "words must be 0 or 1, not '2'");
  EXPECT_EQ(refusal("/1/row", with("measure", "size")), "measure must be raw, value or rollout, not 'size'");
  EXPECT_EQ(refusal("/1/row", with("colour", "red")),
            "'colour' is not a parameter here, only: words, kind, layer, head, row, measure, without_sinks");
  EXPECT_EQ(refusal("/1/row", with("row", "a\nb")), "row must be a whole number, not 'a b'");
  EXPECT_EQ(refusal("/2", {}, 404), "there is no recording '2'");
  EXPECT_EQ(refusal("/2/row", good, 404), "there is no recording '2'");
  for (const char* path : {"/", "/1/", "/1/nothing", "/1/row/", "/../1", "x"})
    EXPECT_EQ(get(path, good).status, 404) << path;
}

TEST_F(ApiOf, TheCacheStaysWithinItsLimit) {
  for (int row = 0; row < 300; ++row) {
    for (const char* head : {"0", "1", "2"})
      get("/1/row", {{"layer", "0"}, {"head", head}, {"row", std::to_string(row)}});
    ASSERT_LE(store_.cache().bytes(), 1 << 20);
  }
  EXPECT_GT(store_.cache().bytes(), 1 << 19);
}

TEST_F(ApiOf, HandlesManyRequestsAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int n = 0; n < 20; ++n) {
        const std::string row = std::to_string((n * 7 + t) % 300);
        right += get("/1/row", {{"layer", "1"}, {"head", "1"}, {"row", row}}).status == 200;
        right += get("/1").status == 200;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 8 * 40);
}

// ---- recordings of a model ----

std::shared_ptr<const insight::RecordedTables> read_fox(ThreadPool& pool) {
  const model::Reader reader = model::Reader::load(std::string(ATTNSCOPE_GOLDEN) + "/models/bert");
  const model::Text text{"The quick brown fox jumps over the lazy dog.", std::nullopt, std::nullopt};
  return std::make_shared<const insight::RecordedTables>(model::read(reader, text, {}, pool));
}

TEST(ApiOfAModel, CancelledWorkCanBeRequestedAgain) {
  auto pool = std::make_shared<ThreadPool>(2);
  RecordingStore store([&] { return pool; }, 1 << 20);
  store.add("bert", read_fox(*pool), [](std::int64_t, std::int64_t) { FAIL() << "a model's weights need no look"; });
  const Client gone{.waits = [] { return false; }};
  EXPECT_EQ(Api(store).response({.path = "/api/recordings/1"}, gone).status, 503);
  EXPECT_EQ(Api(store).response({.path = "/api/recordings/1"}).status, 200);
}

TEST(ApiOfAModel, MergesWordsInEveryRoute) {
  auto pool = std::make_shared<ThreadPool>(2);
  const auto tables = read_fox(*pool);
  const auto words = insight::merged_words(tables);
  const std::int64_t count = words->stacks()[0].keys;
  ASSERT_LT(count, tables->stacks()[0].keys);
  RecordingStore store([&] { return pool; }, 1 << 20);
  store.add("bert", tables);
  const auto get = [&](const std::string& path, const Query& more) {
    Query query = more;
    query["words"] = "1";
    return Api(store).response({.path = "/api/recordings/1" + path, .query = query});
  };
  const json facts = json::parse(*get("", {}).body);
  EXPECT_EQ(facts["stacks"][0]["queries"], count);
  EXPECT_EQ(facts["model"]["name"], "bert");
  EXPECT_EQ(facts["model"]["type"], "bert");
  EXPECT_EQ(facts["text"], tables->recording()->origin.text.text);
  EXPECT_EQ(facts["stacks"][0]["query_tokens"][0]["special"], true);
  EXPECT_EQ(facts["stacks"][0]["query_tokens"][0]["word"], 0);
  const nn::Matrix table = words->weights({insight::Kind::self, 1, 0}, *pool);
  const std::vector<float> row = floats(get("/row", {{"layer", "1"}, {"head", "0"}, {"row", "2"}}));
  ASSERT_EQ(std::ssize(row), count);
  for (std::int64_t j = 0; j < count; ++j) EXPECT_EQ(row[static_cast<std::size_t>(j)], table.row(2)[j]);
  EXPECT_EQ(get("/thumbnails", {}).body->size(), static_cast<std::size_t>(std::ssize(tables->heads()) * count * count));
}

TEST(ApiOfAModel, AnEncoderDecoderHasThreeKinds) {
  auto pool = std::make_shared<ThreadPool>(2);
  const model::Reader reader = model::Reader::load(std::string(ATTNSCOPE_GOLDEN) + "/models/t5");
  const model::Text text{"The quick brown fox.", std::nullopt, "Was it asleep?"};
  const auto tables = std::make_shared<insight::RecordedTables>(model::read(reader, text, {}, *pool));
  RecordingStore store([&] { return pool; }, 1 << 20);
  store.add("t5", tables);
  const auto get = [&](const std::string& path, const Query& query) {
    return Api(store).response({.path = "/api/recordings/1" + path, .query = query});
  };
  const json facts = json::parse(*get("", {}).body);
  ASSERT_EQ(facts["stacks"].size(), 3U);
  EXPECT_EQ(facts["stacks"][2]["kind"], "cross");
  EXPECT_EQ(facts["stacks"][2]["key_tokens"].size(), facts["stacks"][0]["query_tokens"].size());
  EXPECT_EQ(facts["stacks"][1]["causal"], true);
  const nn::Matrix table = tables->weights({insight::Kind::cross, 1, 1}, *pool);
  const std::vector<float> column =
      floats(get("/column", {{"kind", "cross"}, {"layer", "1"}, {"head", "1"}, {"column", "3"}}));
  ASSERT_EQ(std::ssize(column), table.rows());
  for (std::int64_t i = 0; i < table.rows(); ++i) EXPECT_EQ(column[static_cast<std::size_t>(i)], table.row(i)[3]);
}

}  // namespace
}  // namespace attn::server
