#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "insight/blocks/map_tile.h"
#include "insight/blocks/profile.h"
#include "insight/io/table_text.h"
#include "insight/paths/rollout.h"
#include "insight/tables/value_weighted.h"
#include "insight/tables/without_sinks.h"
#include "insight/tables/words.h"
#include "model/recording/recording_file.h"
#include "server/http/encode.h"
#include "server/routes/api.h"
#include "tests/insight/random_rows.h"
#include "tests/server/test_page.h"
#include "tests/support/looking.h"
#include "tests/support/temporary_folder.h"

namespace attn::server {
namespace {

using insight::AttentionTables;
using insight::HeadId;
using insight::InMemoryTables;
using nlohmann::json;

// Everything that a streamed body writes.
std::string poured(const Response& response) {
  std::string all;
  if (response.pour) response.pour([&](std::string_view part) { all += part; });
  return all;
}
std::string header(const Response& response, const std::string& name) {
  const auto found = std::ranges::find(response.headers, name, &std::pair<std::string, std::string>::first);
  return found == response.headers.end() ? "" : found->second;
}
std::vector<float> floats(const std::string& bytes) {
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

class Looking : public testing::Test {
 protected:
  Looking() { store_.show_on(test::test_page().offline()); }

  static std::shared_ptr<const AttentionTables> read(const char* model, ThreadPool& pool,
                                                     model::Keep keep = {
                                                         .values = true, .inputs = true, .value_norms = true}) {
    const model::Reader reader = model::Reader::load(std::string(ATTNSCOPE_GOLDEN) + "/models/" + model);
    const model::Text text{"The quick brown fox jumps over the lazy dog.", std::nullopt, std::nullopt};
    return std::make_shared<insight::RecordedTables>(model::read(reader, text, keep, pool));
  }
  static std::shared_ptr<const AttentionTables> random(const test::RandomRows& rows) {
    return std::make_shared<InMemoryTables>(rows.table_data(), std::vector<std::string>{}, std::vector<std::string>{});
  }

  Response get(const std::string& path, const Query& query = {}) {
    return Api(store_).response({.path = "/api" + path, .query = query});
  }
  Response post(const std::string& path, const json& body) {
    return Api(store_).response({.method = "POST", .path = "/api" + path, .query = {}, .body = body.dump()});
  }
  json body_of(const Response& response) {
    EXPECT_EQ(response.status, 200) << (response.body ? *response.body : "");
    return json::parse(*response.body);
  }
  std::string refused(const Response& response, int status = 400) {
    EXPECT_EQ(response.status, status);
    return json::parse(*response.body)["error"];
  }

  std::shared_ptr<ThreadPool> pool_ = std::make_shared<ThreadPool>(2);
  RecordingStore store_{[this] { return pool_; }, 8 << 20};
};

TEST_F(Looking, MapTilesOfEveryLevelMatchInsightEvenIfJoined) {
  const auto tables = random({.layers = 1, .heads = 1, .n = 2600, .seed = 3});
  store_.add("long", tables);
  for (std::int64_t level = 0; level <= 12; ++level) {
    const std::int64_t cells = ((2600 - 1) >> level) + 1, last = (cells - 1) / insight::kMapTile;
    for (const insight::MapPlace& place : {insight::MapPlace{level, 0, 0}, {level, last, last}, {level, 0, last}}) {
      const Response found = get("/recordings/1/tile", {{"layer", "0"},
                                                        {"head", "0"},
                                                        {"level", std::to_string(level)},
                                                        {"row", std::to_string(place.row)},
                                                        {"column", std::to_string(place.column)}});
      ASSERT_EQ(found.status, 200);
      EXPECT_EQ(*found.body, coded(map_tile(*tables, {}, place, *pool_))) << level;
      EXPECT_EQ(header(found, "X-Scale"), "");
    }
  }
}

// Counts how many weights are requested.
class Counted final : public AttentionTables {
 public:
  explicit Counted(std::shared_ptr<const AttentionTables> inner)
      : AttentionTables(inner->stacks()), inner_(std::move(inner)) {}
  using AttentionTables::weights;
  [[nodiscard]] const std::vector<text::Token>& queries(Kind kind) const noexcept override {
    return inner_->queries(kind);
  }
  [[nodiscard]] const std::vector<text::Token>& keys(Kind kind) const noexcept override { return inner_->keys(kind); }
  [[nodiscard]] bool causal(const HeadId& head) const override { return inner_->causal(head); }
  void weights(const HeadId& head, Rectangle window, View<float, 2> out, ThreadPool& pool) const override {
    count += out.shape[0] * out.shape[1];
    inner_->weights(head, window, out, pool);
  }
  mutable std::atomic<std::int64_t> count = 0;

 private:
  std::shared_ptr<const AttentionTables> inner_;
};

TEST_F(Looking, ZoomingOutAndPanningRebuildEveryWeightOnce) {
  const auto tables =
      std::make_shared<Counted>(random({.layers = 1, .heads = 1, .n = 3000, .causal = false, .seed = 3}));
  store_.add("long", tables);
  tables->count = 0;
  for (const char* const level : {"4", "3", "5", "4", "3"}) {
    for (std::int64_t row = 0; row < (level[0] == '3' ? 2 : 1); ++row) {
      const Response found = get("/recordings/1/tile", {{"layer", "0"},
                                                        {"head", "0"},
                                                        {"level", level},
                                                        {"row", std::to_string(row)},
                                                        {"column", std::to_string(row)}});
      EXPECT_EQ(found.status, 200);
    }
  }
  EXPECT_EQ(tables->count, 3000 * 3000);
}

TEST_F(Looking, RowsColumnsAndProfilesFollowEveryMeasure) {
  const auto tables = read("bert", *pool_);
  store_.add("bert", tables);
  const HeadId head{Kind::self, 1, 2};
  const auto merged = std::shared_ptr<const AttentionTables>(insight::merged_words(tables));
  const std::vector<std::pair<Query, std::shared_ptr<const AttentionTables>>> looks = {
      {{}, tables},
      {{{"words", "1"}}, merged},
      {{{"without_sinks", "1"}}, insight::without_sinks(tables)},
      {{{"without_sinks", "1"}, {"words", "1"}}, insight::without_sinks(merged)},
      {{{"measure", "value"}}, insight::value_weighted(tables)},
      {{{"measure", "value"}, {"words", "1"}}, insight::merged_words(insight::value_weighted(tables))}};
  for (const auto& [view, expected] : looks) {
    const nn::Matrix table = expected->weights(head, *pool_);
    Query query = view;
    query["layer"] = "1";
    query["head"] = "2";
    const insight::Profile margins = insight::profile(*expected, head, *pool_);
    EXPECT_EQ(body_of(get("/recordings/1/profile", query))["received"].get<std::vector<float>>(), margins.received);
    query["row"] = "3";
    EXPECT_EQ(floats(*get("/recordings/1/row", query).body),
              std::vector<float>(table.row(3), table.row(3) + table.columns()));
    query.erase("row");
    query["column"] = "1";
    const std::vector<float> column = floats(*get("/recordings/1/column", query).body);
    ASSERT_EQ(std::ssize(column), table.rows());
    for (std::int64_t i = 0; i < table.rows(); ++i)
      EXPECT_EQ(column[static_cast<std::size_t>(i)], table.row(i)[1]) << i;
  }
}

TEST_F(Looking, AByteIsAShareOfTheHeadsLargestValue) {
  const auto tables = read("bert", *pool_);
  store_.add("bert", tables);
  const nn::Matrix table = insight::value_weighted(tables)->weights({Kind::self, 1, 2}, *pool_);
  const std::int64_t count = table.rows() * table.columns();
  const float most = *std::max_element(table.data(), table.data() + count);
  const Response tile =
      get("/recordings/1/tile",
          {{"layer", "1"}, {"head", "2"}, {"level", "0"}, {"row", "0"}, {"column", "0"}, {"measure", "value"}});
  EXPECT_EQ(std::stof(header(tile, "X-Scale")), most);
  for (std::int64_t n = 0; n < count; ++n)
    EXPECT_EQ(static_cast<unsigned char>((*tile.body)[static_cast<std::size_t>(n)]),
              std::lround(255 * std::sqrt(table.data()[n] / most)));
}

TEST(ByValue, BytesAndScaleMatchNumpy) {
  const test::Looking golden;
  nn::Matrix table = golden.table("a");
  float most = 0;
  for (std::int64_t i = 0; i < table.rows(); ++i) {
    for (std::int64_t j = 0; j < table.columns(); ++j) {
      table.row(i)[j] *= golden["norms"][static_cast<std::size_t>(j)].get<float>();
      most = std::max(most, table.row(i)[j]);
    }
  }
  EXPECT_EQ(most, golden["value_scale"].get<float>());
  std::for_each_n(table.data(), 144, [&](float& x) { x /= most; });
  const std::string bytes = coded(table);
  for (std::size_t n = 0; n < 144; ++n)
    EXPECT_EQ(static_cast<unsigned char>(bytes[n]), golden["value_bytes"][n / 12][n % 12].get<int>()) << n;
}

TEST_F(Looking, ARolloutCoversTheLayersUpToThisOneForAnyHead) {
  const auto tables = read("gpt2", *pool_);
  store_.add("gpt2", tables);
  const nn::Matrix table = insight::rollout(*tables, 1, *pool_);
  for (const char* const head : {"0", "1"}) {
    const Query query = {{"layer", "1"}, {"head", head}, {"row", "5"}, {"measure", "rollout"}};
    EXPECT_EQ(floats(*get("/recordings/1/row", query).body),
              std::vector<float>(table.row(5), table.row(5) + table.columns()));
  }
  const Response tile =
      get("/recordings/1/tile",
          {{"layer", "1"}, {"head", "0"}, {"level", "0"}, {"row", "0"}, {"column", "0"}, {"measure", "rollout"}});
  EXPECT_EQ(*tile.body, coded(table));
  const std::vector<float> words = floats(
      *get("/recordings/1/row", {{"layer", "1"}, {"head", "0"}, {"row", "2"}, {"measure", "rollout"}, {"words", "1"}})
           .body);
  EXPECT_EQ(std::ssize(words), insight::merged_words(tables)->stacks()[0].keys);
  EXPECT_NEAR(std::accumulate(words.begin(), words.end(), 0.0), 1, 1e-5);
}

TEST_F(Looking, RejectsMeasuresThatTablesLackInOneLine) {
  store_.add("tables", random({.layers = 1, .heads = 2, .n = 600, .seed = 6}));
  const auto said = [&](Query query) {
    query.insert({{"layer", "0"}, {"head", "0"}, {"row", "0"}});
    return refused(get("/recordings/1/row", query));
  };
  EXPECT_EQ(said({{"measure", "norm"}}), "measure must be raw, value or rollout, not 'norm'");
  EXPECT_EQ(said({{"measure", "value"}}),
            "a table of weights has no values: measure 'value' needs a model or a recording");
  EXPECT_NE(said({{"measure", "rollout"}}).find("limited to 512 tokens, but the text has 600"), std::string::npos);
  EXPECT_EQ(said({{"measure", "rollout"}, {"without_sinks", "1"}}),
            "removing sinks renormalises weights, so it does not go with measure 'rollout'");
  EXPECT_EQ(said({{"without_sinks", "yes"}}), "without_sinks must be 0 or 1, not 'yes'");
}

TEST_F(Looking, ATraceNamesWhatTheRecordingLacks) {
  store_.add("bert", read("bert", *pool_, {}));
  const json found =
      body_of(get("/recordings/1/trace", {{"layer", "0"}, {"head", "1"}, {"row", "2"}, {"column", "3"}}));
  EXPECT_EQ(found["missing"], (std::vector<std::string>{"x", "v", "contribution"}));
  EXPECT_EQ(found["query"]["token"], 2);
  EXPECT_EQ(found["key"]["token"], 3);
  EXPECT_EQ(refused(get("/recordings/1/trace",
                        {{"layer", "0"}, {"head", "1"}, {"row", "2"}, {"column", "3"}, {"words", "1"}})),
            "a weight is traced between tokens: words=1 is not possible here");
  EXPECT_EQ(refused(get("/recordings/1/trace", {{"layer", "0"}, {"head", "1"}, {"row", "99"}, {"column", "0"}})),
            "there is no query 99: tokens count from 0 to 24");
}

TEST_F(Looking, HeadsAreFoundByNameMaskAndPicture) {
  store_.add("bert", read("bert", *pool_));
  const json names = body_of(get("/patterns"))["patterns"];
  EXPECT_EQ(names[0], "previous");
  const json named = body_of(post("/recordings/1/find", {{"pattern", "offset(-1)"}}));
  EXPECT_EQ(named["pattern"], "offset(-1)");
  EXPECT_EQ(named["heads"], body_of(post("/recordings/1/find", {{"pattern", "previous"}}))["heads"]);
  EXPECT_EQ(body_of(post("/recordings/1/find", {{"pattern", "causal&window(2)"}}))["pattern"], "causal & window(2)");
  const json pictured = body_of(post("/recordings/1/find", {{"picture", {{1, 0}, {0, 1}}}, {"kind", "self"}}));
  EXPECT_EQ(pictured["pattern"], "a picture of 2 x 2");
  EXPECT_EQ(pictured["heads"].size(), named["heads"].size());
  for (std::size_t n = 1; n < pictured["heads"].size(); ++n)
    EXPECT_LE(pictured["heads"][n]["similarity"], pictured["heads"][n - 1]["similarity"]);
}

TEST_F(Looking, RejectsWhatIsNotAPattern) {
  store_.add("tables", random({.layers = 1, .heads = 2, .n = 6, .seed = 6}));
  const auto said = [&](const json& body) { return refused(post("/recordings/1/find", body)); };
  EXPECT_NE(said({{"pattern", "sideways"}}).find("neither a name"), std::string::npos);
  EXPECT_EQ(said({{"pattern", 3}}), "pattern must be a string");
  EXPECT_EQ(said(json::object()), "give a pattern (a name or a mask) or a picture");
  EXPECT_EQ(said({{"pattern", "same"}, {"picture", {{1}}}}), "give a pattern (a name or a mask) or a picture");
  EXPECT_NE(said({{"picture", {{1, 2}, {1}}}}).find("rows of numbers of equal length"), std::string::npos);
  EXPECT_EQ(said({{"picture", {{0, 0}}}}), "the picture is all zeros");
  EXPECT_EQ(said({{"pattern", "same"}, {"kind", "other"}}), "kind must be self, decoder or cross");
  EXPECT_NE(said({{"patern", "same"}}).find("pattern, picture, kind"), std::string::npos);
}

TEST_F(Looking, TablesAreStreamedAndNamedAfterTheirHead) {
  const auto tables = read("bert", *pool_);
  store_.add("Tiny BERT/模型", tables);
  for (const auto& [format, as] : {std::pair{"csv", insight::TableFormat::csv}, {"npy", insight::TableFormat::npy}}) {
    const Response response =
        get("/recordings/1/table", {{"layer", "1"}, {"head", "2"}, {"format", format}, {"without_sinks", "1"}});
    std::string expected;
    insight::write_table(*insight::without_sinks(tables), {Kind::self, 1, 2}, as, *pool_,
                         [&](std::string_view part) { expected += part; });
    EXPECT_EQ(poured(response), expected);
    EXPECT_EQ(header(response, "Content-Disposition"),
              std::string("attachment; filename=\"Tiny-BERT-layer1-head2-without-sinks.") + format + "\"");
  }
  EXPECT_EQ(refused(get("/recordings/1/table", {{"layer", "1"}, {"head", "2"}, {"format", "xls"}})),
            "format must be csv or npy, not 'xls'");
}

TEST_F(Looking, FiguresHaveNamesAndLimits) {
  store_.add("bert", read("bert", *pool_));
  const auto name = [&](const Query& query) {
    return header(get("/recordings/1/figure", query), "Content-Disposition");
  };
  EXPECT_EQ(name({{"view", "heatmap"}, {"layer", "1"}, {"head", "2"}}),
            "attachment; filename=\"bert-layer1-head2.png\"");
  EXPECT_EQ(name({{"view", "overview"}, {"format", "svg"}}), "attachment; filename=\"bert-overview.svg\"");
  EXPECT_EQ(name({{"view", "headview"}, {"layer", "0"}, {"heads", "1"}, {"words", "1"}}),
            "attachment; filename=\"bert-layer0-head1-lines-words.png\"");
  const auto said = [&](const Query& query) { return refused(get("/recordings/1/figure", query)); };
  EXPECT_EQ(said({{"view", "pie"}}), "view must be heatmap, heads, headview or overview, not 'pie'");
  EXPECT_EQ(said({{"view", "overview"}, {"format", "pdf"}}), "format must be png or svg, not 'pdf'");
  EXPECT_EQ(said({{"view", "overview"}, {"dpi", "9000"}}), "dpi must lie between 20 and 600");
  EXPECT_NE(said({{"view", "overview"}, {"map", "rainbow"}}).find("rainbow"), std::string::npos);
  EXPECT_EQ(said({{"view", "headview"}, {"layer", "0"}, {"measure", "value"}}),
            "measure must be raw for view=headview");
  EXPECT_EQ(said({{"view", "overview"}, {"measure", "rollout"}}), "measure must be raw or value for view=overview");
  EXPECT_EQ(said({{"view", "heads"}, {"layer", "0"}, {"heads", "0,x"}}),
            "heads must be whole numbers separated by commas, not 'x'");
  EXPECT_EQ(said({{"view", "heads"}, {"layer", "7"}}), "there is no layer 7: layers count from 0 to 2");
}

TEST_F(Looking, TheRecordingAndThePageCanBeDownloaded) {
  const auto tables = read("bert", *pool_);
  store_.add("bert", tables);
  const test::TemporaryFolder folder;
  model::save_recording(*tables->recording(), folder / "x.attn");
  EXPECT_EQ(poured(get("/recordings/1/recording")), folder.read("x.attn"));
  const Response page = get("/recordings/1/page", {{"state", "view=heads"}, {"words", "1"}});
  EXPECT_NE(page.body->find("data-state=\"view=heads\""), std::string::npos);
  EXPECT_EQ(header(page, "Content-Disposition"), "attachment; filename=\"bert.html\"");
  store_.add("table", random({.n = 4}));
  EXPECT_EQ(refused(get("/recordings/2/recording"), 409),
            "a table is not a recording: download its numbers head by head");
}

TEST_F(Looking, AMaskIsParsedCountedAndDrawn) {
  const json found = body_of(post("/mask", {{"text", "causal&window(1)"}, {"queries", 3}, {"keys", 4}}));
  EXPECT_EQ(found["text"], "causal & window(1)");
  EXPECT_EQ(found["pairs"], 5);
  EXPECT_FLOAT_EQ(found["share"].get<float>(), 5.0F / 12);
  EXPECT_EQ(found["rows"], (std::vector<std::string>{"1000", "1100", "0110"}));
  EXPECT_EQ(found["picture"]["cells"], "/wAAAP//AAAA//8A");
  EXPECT_EQ(found["tiles"], (json{{"rows", 12},
                                  {"keys", 64},
                                  {"down", 1},
                                  {"across", 1},
                                  {"covers", "1"},
                                  {"full", 0},
                                  {"partial", 1},
                                  {"skipped", 0}}));
  const json large = body_of(post("/mask", {{"text", "causal"}, {"queries", 8000}, {"keys", 8000}}));
  EXPECT_EQ(large["rows"], nullptr);
  EXPECT_EQ(large["picture"]["rows"], 256);
  EXPECT_EQ(large["tiles"]["covers"], nullptr);
  EXPECT_EQ(large["pairs"], 8000 * 8001 / 2);
}

TEST_F(Looking, ErrorForABadMaskNamesItsColumn) {
  const Response wrong = post("/mask", {{"text", "causal & wibble(3)"}, {"queries", 4}, {"keys", 4}});
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(json::parse(*wrong.body)["column"], 10);
  const auto said = [&](const json& body) { return refused(post("/mask", body)); };
  EXPECT_EQ(said({{"text", "causal"}, {"queries", 0}, {"keys", 4}}), "queries must be a whole number from 1 to 32768");
  EXPECT_EQ(said({{"text", "causal"}, {"queries", 4}, {"keys", 40'000}}),
            "keys must be a whole number from 1 to 32768");
  EXPECT_EQ(said({{"queries", 4}, {"keys", 4}}), "text must be a mask: \"causal & window(3)\"");
  EXPECT_NE(said({{"text", "document(0,1)"}, {"queries", 4}, {"keys", 4}}), "");
  EXPECT_NE(said({{"text", "causal"}, {"size", 4}}).find("text, queries, keys"), std::string::npos);
}

}  // namespace
}  // namespace attn::server
