// Recordings that the server's models make, and their predictions.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "insight/experiments/ablation.h"
#include "insight/statistics/induction.h"
#include "model/run/classify.h"
#include "model/run/prepare.h"
#include "server/routes/api.h"

namespace attn::server {
namespace {

using nlohmann::json;

constexpr const char* kText = "The quick brown fox jumps over it";

std::string folder_of(const std::string& name) { return std::string(ATTNSCOPE_GOLDEN) + "/models/" + name; }

std::vector<ModelSource> models() {
  std::vector<ModelSource> models;
  for (const char* const name : {"bert", "gpt2", "t5"}) models.push_back({.name = name, .folder = folder_of(name)});
  return models;
}

// A store with three small models.
class LiveStore : public testing::Test {
 protected:
  explicit LiveStore(std::int64_t memory = kDefaultMemory)
      : pool_(std::make_shared<ThreadPool>(2)),
        store_([this] { return pool_; }, 1 << 20, {.models = models(), .memory = memory}) {}

  Response ask(const Request& request, const Client& client = {}) { return Api(store_).response(request, client); }
  Response post(const json& body, const Client& client = {}) {
    return ask({.method = "POST", .path = "/api/recordings", .body = body.dump()}, client);
  }
  std::string make(const json& body) {
    const Response response = post(body);
    EXPECT_EQ(response.status, 200) << *response.body;
    return response.status == 200 ? json::parse(*response.body)["id"] : "";
  }
  json get(const std::string& path, const Query& query = {}) {
    const Response response = ask({.path = "/api/recordings/" + path, .query = query});
    EXPECT_EQ(response.status, 200) << *response.body;
    return json::parse(*response.body);
  }
  std::string refusal(const json& body, int status = 400) {
    const Response response = post(body);
    EXPECT_EQ(response.status, status) << *response.body;
    return json::parse(*response.body).value("error", "");
  }
  const model::Reader& reader(const std::string& name) { return *store_.models().reader(name); }
  const model::Recording& recording(const std::string& id) {
    return *store_.find(id)->stored_tables(false).recording();
  }

  std::shared_ptr<ThreadPool> pool_;
  RecordingStore store_;
};

TEST_F(LiveStore, ListsModelsWithTheirAbilities) {
  const json list = json::parse(*ask({.path = "/api/models"}).body);
  ASSERT_EQ(list["models"].size(), 3U);
  const json& bert = list["models"][0];
  EXPECT_EQ(bert["name"], "bert");
  EXPECT_EQ(bert["form"], "encoder");
  EXPECT_EQ(bert["layers"], reader("bert").model->facts().layers);
  EXPECT_EQ(bert["fills"], true);
  EXPECT_EQ(bert["continues"], false);
  EXPECT_EQ(bert["given"], false);
  EXPECT_EQ(list["models"][1]["continues"], true);
  EXPECT_EQ(list["models"][2]["form"], "encoder-decoder");
  EXPECT_EQ(list["limits"]["text_bytes"], 1'000'000);
  EXPECT_EQ(list["limits"]["tokens"], 32'768);
}

TEST_F(LiveStore, TheSameBodyGivesTheSameRecording) {
  const std::string id = make({{"model", "bert"}, {"text", kText}});
  EXPECT_EQ(make({{"text", kText}, {"off", json::array()}, {"model", "bert"}, {"pair", nullptr}}), id);
  EXPECT_NE(make({{"model", "bert"}, {"text", "another"}}), id);
  EXPECT_NE(make({{"model", "bert"}, {"text", kText}, {"mask", "causal"}}), id);
  const json head = {{"kind", "self"}, {"layer", 0}, {"head", 1}}, other = {{"layer", 1}, {"head", 0}};
  const std::string off = make({{"model", "bert"}, {"text", kText}, {"off", {head, other}}});
  EXPECT_NE(off, id);
  EXPECT_EQ(make({{"model", "bert"}, {"text", kText}, {"off", {other, head, head}}}), off);
  EXPECT_EQ(store_.recordings().size(), 4U);
}

TEST_F(LiveStore, FactsHaveTheOriginAndTheMeasures) {
  const json facts = get(make({{"model", "bert"}, {"text", kText}, {"mask", "window(2)"}}));
  EXPECT_EQ(facts["origin"]["model"], "bert");
  EXPECT_EQ(facts["origin"]["text"], kText);
  EXPECT_EQ(facts["origin"]["mask"], "window(2)");
  EXPECT_EQ(facts["origin"]["pair"], nullptr);
  EXPECT_EQ(facts["origin"]["off"], json::array());
  EXPECT_EQ(facts["origin"]["generate"], nullptr);
  EXPECT_EQ(facts["live"], true);
  EXPECT_EQ(facts["measures"], (json{"raw", "value", "rollout"}));
  EXPECT_EQ(facts["generated"], nullptr);
  EXPECT_EQ(facts["model"]["form"], "encoder");
  EXPECT_EQ(facts["model"]["fills"], true);
  EXPECT_GT(facts["bytes"], 1000);
}

TEST_F(LiveStore, ThePlanPredictsTheBytes) {
  for (const char* const name : {"bert", "gpt2", "t5"}) {
    json body = {{"model", name}, {"text", kText}};
    if (std::string(name) == "t5") body["target"] = "Was it asleep?";
    const std::string id = make(body);
    const model::Recording& recorded = recording(id);
    const RecordPlan planned =
        plan(reader(name).model->facts(), std::ssize(recorded.tokens), std::ssize(recorded.target));
    EXPECT_EQ(planned.bytes, store_.find(id)->bytes()) << name;
    EXPECT_TRUE(planned.keep.values && planned.keep.inputs && planned.keep.value_norms);
  }
  const model::Facts& facts = reader("bert").model->facts();
  EXPECT_FALSE(plan(facts, 10'000'000, 0).keep.values);
  EXPECT_TRUE(plan(facts, 10'000'000, 0).keep.value_norms);
}

TEST_F(LiveStore, RejectsBadRequestsInOneLine) {
  EXPECT_EQ(refusal({{"model", "nobody"}, {"text", "a"}}), "there is no model 'nobody' here, only: bert, gpt2, t5");
  EXPECT_EQ(refusal({{"model", "../../etc"}, {"text", "a"}}),
            "there is no model '../../etc' here, only: bert, gpt2, t5");
  EXPECT_EQ(refusal({{"model", "bert"}, {"text", "a"}, {"colour", 1}}),
            "a recording has no 'colour', only: model, text, pair, target, mask, off, generate");
  EXPECT_EQ(refusal({{"model", "bert"}}), "text is missing: it must be a string");
  EXPECT_EQ(refusal({{"model", "bert"}, {"text", 5}}), "text must be a string");
  EXPECT_EQ(refusal(json::array()), "the body must be a JSON object");
  EXPECT_EQ(ask({.method = "POST", .path = "/api/recordings", .body = "{"}).status, 400);
  EXPECT_EQ(refusal({{"model", "bert"}, {"text", "a"}, {"off", {{{"layer", 9}, {"head", 0}}}}}).substr(0, 31),
            "there is no layer 9, head 0: la");
  EXPECT_EQ(refusal({{"model", "bert"}, {"text", "a"}, {"off", {{{"kind", "cross"}, {"layer", 0}, {"head", 0}}}}}),
            "a bert has no attention of kind 'cross', only self");
  EXPECT_EQ(refusal({{"model", "bert"}, {"text", "a"}, {"off", {{{"where", 0}}}}}),
            "a head that is off has no 'where', only: kind, layer, head");
  EXPECT_EQ(refusal({{"model", "bert"}, {"text", ""}}).substr(0, 17), "the text is empty");
  EXPECT_EQ(refusal({{"model", "gpt2"}, {"text", "a"}, {"pair", "b"}}),
            "a gpt2 takes no pair of texts: only an encoder does");
  EXPECT_EQ(refusal({{"model", "bert"}, {"text", "a"}, {"generate", {{"tokens", 3}}}}).substr(0, 20),
            "a bert is an encoder");
  EXPECT_EQ(refusal({{"model", "gpt2"}, {"text", "a"}, {"generate", {{"tokens", 3}, {"top_p", 0}}}}),
            "top_p must be above 0 and at most 1, not 0");
  EXPECT_EQ(refusal({{"model", "gpt2"}, {"text", "a"}, {"generate", {{"words", 3}}}}),
            "generate has no 'words', only: tokens, temperature, top_k, top_p, seed");
  EXPECT_TRUE(store_.recordings().empty());
}

TEST_F(LiveStore, ErrorForAMaskThatDoesNotFitNamesBothSizes) {
  EXPECT_EQ(refusal({{"model", "bert"}, {"text", kText}, {"mask", "causl"}}).substr(0, 6), "mask: ");
  const std::string wrong = refusal({{"model", "bert"}, {"text", kText}, {"mask", "document(0,0,1)"}});
  EXPECT_NE(wrong.find('3'), std::string::npos) << wrong;
  EXPECT_NE(wrong.find(std::to_string(reader("bert").tokenizer.encode(kText).tokens.size())), std::string::npos);
  EXPECT_EQ(wrong.find('\n'), std::string::npos);
  refusal({{"model", "gpt2"}, {"text", "a b"}, {"mask", "table(11,11)"}, {"generate", {{"tokens", 4}}}});
}

TEST_F(LiveStore, AMaskAppliesOnTopOfTheModelsOwnRule) {
  const std::string id = make({{"model", "gpt2"}, {"text", kText}, {"mask", "window(2)"}});
  const insight::AttentionTables& tables = store_.find(id)->stored_tables(false).tables();
  const std::int64_t n = tables.stacks()[0].queries;
  for (const insight::HeadId& head : tables.heads()) {
    const nn::Matrix table = tables.weights(head, *pool_);
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        sum += table.row(i)[j];
        const bool hidden = j > i || j < i - 2;
        ASSERT_TRUE(!hidden || table.row(i)[j] == 0) << i << " " << j;
      }
      EXPECT_NEAR(sum, 1, 1e-5);
    }
  }
}

TEST_F(LiveStore, ATextUnderAMaskThatHidesEverythingCanBeViewed) {
  const json facts = get(make({{"model", "bert"}, {"text", kText}, {"mask", "~everything"}}));
  for (const json& head : facts["heads"]) EXPECT_EQ(head["entropy"], 0);
}

TEST_F(LiveStore, PredictionsEqualThoseOfFill) {
  const std::string text = "the [MASK] was a [MASK] dog";
  const json found = get(make({{"model", "bert"}, {"text", text}}) + "/predictions", {{"top", "7"}});
  const model::Filled filled = model::fill(reader("bert"), text, 7, *pool_);
  EXPECT_EQ(found["what"], "gaps");
  EXPECT_EQ(found["kl"], nullptr);
  EXPECT_EQ(found["labels"], nullptr);
  ASSERT_EQ(found["places"].size(), 2U);
  for (std::size_t g = 0; g < 2; ++g) {
    const json& place = found["places"][g];
    EXPECT_EQ(place["token"], filled.gaps[g].token);
    EXPECT_EQ(place["text"], "[MASK]");
    ASSERT_EQ(place["choices"].size(), 7U);
    for (std::size_t c = 0; c < 7; ++c) {
      EXPECT_EQ(place["choices"][c]["id"], filled.gaps[g].choices[c].id);
      EXPECT_NEAR(place["choices"][c]["probability"], filled.gaps[g].choices[c].probability, 1e-6);
    }
  }
}

TEST_F(LiveStore, PredictionsFollowTheTemperature) {
  const std::string id = make({{"model", "gpt2"}, {"text", kText}});
  const auto row = [&](double divisor) {
    const nn::Matrix& hidden = recording(id).hidden;
    nn::Matrix logits = reader("gpt2").model->logits(nn::rows_of(hidden.view(), hidden.rows() - 1, 1), *pool_);
    std::vector<double> shares;
    double sum = 0;
    for (std::int64_t i = 0; i < logits.columns(); ++i)
      sum += shares.emplace_back(std::exp(logits.data()[i] / divisor));
    for (double& share : shares) share /= sum;
    return shares;
  };
  for (const double temperature : {0.5, 1.0, 2.0}) {
    const json found = get(id + "/predictions", {{"temperature", std::to_string(temperature)}});
    EXPECT_EQ(found["what"], "next");
    ASSERT_EQ(found["places"].size(), 1U);
    const std::vector<double> shares = row(temperature);
    double entropy = 0;
    for (const double p : shares) entropy -= p > 0 ? p * std::log(p) : 0;
    EXPECT_NEAR(found["places"][0]["entropy"], entropy, 1e-4);
    for (const json& choice : found["places"][0]["choices"])
      EXPECT_NEAR(choice["probability"], shares[choice["id"].get<std::size_t>()], 1e-6);
  }
  for (const char* const wrong : {"0.01", "6", "x", "nan"}) {
    EXPECT_EQ(ask({.path = "/api/recordings/" + id + "/predictions", .query = {{"temperature", wrong}}}).status, 400);
  }
  EXPECT_EQ(ask({.path = "/api/recordings/" + id + "/predictions", .query = {{"at", "99"}}}).status, 400);
  EXPECT_EQ(get(id + "/predictions", {{"at", "0,2"}})["places"][1]["token"], 2);
}

TEST_F(LiveStore, AnEncoderDecoderPredictsAtEachTargetToken) {
  const json found = get(make({{"model", "t5"}, {"text", kText}, {"target", "Was it asleep?"}}) + "/predictions");
  EXPECT_EQ(found["what"], "target");
  EXPECT_EQ(found["places"].size(), reader("t5").tokenizer.ids("Was it asleep?").size());
}

// The effect of heads that are off equals insight's exactly, not only approximately.
TEST_F(LiveStore, HeadsThatAreOffChangePredictionsAsInAblation) {
  const std::string text = "the [MASK] was a dog";
  const std::string whole = make({{"model", "bert"}, {"text", text}});
  const json off = {{{"layer", 0}, {"head", 1}}, {{"layer", 1}, {"head", 0}}};
  const std::string without = make({{"model", "bert"}, {"text", text}, {"off", off}});
  const json found = get(without + "/predictions", {{"against", whole}, {"top", "5"}});
  const std::int64_t gap = found["places"][0]["token"];
  const insight::Ablation ablation(reader("bert"), recording(whole), {gap}, *pool_);
  const std::vector<insight::HeadId> heads = {{insight::Kind::self, 0, 1}, {insight::Kind::self, 1, 0}};
  const nn::Matrix after = ablation.without(heads, *pool_);
  const auto row = [](const nn::Matrix& of) { return std::span(of.row(0), static_cast<std::size_t>(of.columns())); };
  const auto expected = model::likeliest(row(after), 5), before = model::likeliest(row(ablation.before()), 1000);
  for (std::size_t c = 0; c < 5; ++c) {
    const json& choice = found["places"][0]["choices"][c];
    EXPECT_EQ(choice["id"], expected[c].id);
    EXPECT_FLOAT_EQ(choice["probability"], static_cast<float>(expected[c].probability));
    const auto same = std::ranges::find(before, expected[c].id, &model::Choice::id);
    ASSERT_NE(same, before.end());
    EXPECT_FLOAT_EQ(choice["before"], static_cast<float>(same->probability));
  }
  EXPECT_FLOAT_EQ(found["kl"], static_cast<float>(ablation.divergence(after)[0]));
  EXPECT_FLOAT_EQ(found["places"][0]["kl"], found["kl"]);
  EXPECT_EQ(found["places"][0]["against"][0]["id"], before[0].id);
  const std::string other = make({{"model", "gpt2"}, {"text", text}});
  EXPECT_EQ(ask({.path = "/api/recordings/" + without + "/predictions", .query = {{"against", other}}}).status, 409);
}

TEST_F(LiveStore, EffectsEqualTheRankingOfAblation) {
  const std::string id = make({{"model", "bert"}, {"text", "the [MASK] was a dog"}});
  const json found = get(id + "/effects");
  const std::int64_t gap = found["places"][0];
  const auto all = insight::heads_of(reader("bert").model->facts());
  const auto ranked = insight::Ablation(reader("bert"), recording(id), {gap}, *pool_).rank(all, {}, *pool_);
  ASSERT_EQ(found["heads"].size(), ranked.size());
  for (std::size_t n = 0; n < ranked.size(); ++n) {
    EXPECT_EQ(found["heads"][n]["layer"], ranked[n].head.layer);
    EXPECT_EQ(found["heads"][n]["head"], ranked[n].head.head);
    EXPECT_FLOAT_EQ(found["heads"][n]["kl"], static_cast<float>(ranked[n].kl));
    EXPECT_EQ(found["heads"][n]["likeliest"].size(), 1U);
  }
  EXPECT_EQ(get(id + "/effects", {{"top", "2"}})["heads"].size(), 2U);
}

TEST_F(LiveStore, EffectsOfARecordingWithHeadsOffAddToThem) {
  const std::string text = "the [MASK] was a dog";
  const std::string whole = make({{"model", "bert"}, {"text", text}});
  const std::string id = make({{"model", "bert"}, {"text", text}, {"off", {{{"layer", 0}, {"head", 1}}}}});
  const json found = get(id + "/effects");
  const auto all = insight::heads_of(reader("bert").model->facts());
  ASSERT_EQ(found["heads"].size(), all.size() - 1);
  const std::int64_t gap = found["places"][0];
  const insight::Ablation ablation(reader("bert"), recording(whole), {gap}, *pool_);
  const insight::HeadId off{insight::Kind::self, 0, 1};
  const nn::Matrix base = ablation.without(std::vector{off}, *pool_);
  for (const json& head : found["heads"]) {
    const insight::HeadId one{insight::Kind::self, head["layer"], head["head"]};
    ASSERT_NE(one, off);
    const nn::Matrix both = ablation.without(std::vector{off, one}, *pool_);
    const auto row = [](const nn::Matrix& of) { return std::span(of.row(0), static_cast<std::size_t>(of.columns())); };
    EXPECT_NEAR(head["kl"], insight::kl_divergence(row(base), row(both)), 1e-6);
  }
}

TEST_F(LiveStore, GeneratedTokensEqualThoseOfGenerate) {
  const model::Generation how{.tokens = 6, .sampling = {.temperature = 0.8, .top_k = 0, .top_p = 0.9, .seed = 7}};
  const json body = {{"model", "gpt2"},
                     {"text", kText},
                     {"generate", {{"tokens", 6}, {"temperature", 0.8}, {"top_p", 0.9}, {"seed", 7}}}};
  std::vector<json> found;
  const Client client{.tell = [&](std::string_view event, const std::string& text) {
    if (event == "token") found.push_back(json::parse(text));
  }};
  const Response response = post(body, client);
  ASSERT_EQ(response.status, 200) << *response.body;
  const std::string id = json::parse(*response.body)["id"];
  const auto prompt = model::prompt_ids(reader("gpt2"), kText);
  const auto expected = model::generate(*reader("gpt2").model, prompt, how, {.pool = *pool_});
  const json facts = get(id);
  EXPECT_EQ(facts["generated"]["from"], prompt.size());
  ASSERT_EQ(facts["generated"]["steps"].size(), expected.size());
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t n = 0; n < expected.size(); ++n) {
    EXPECT_EQ(found[n]["step"], n);
    EXPECT_EQ(found[n]["id"], expected[n]);
    EXPECT_EQ(found[n]["choices"].size(), 5U);
    EXPECT_EQ(facts["generated"]["steps"][n]["id"], expected[n]);
  }
  const model::Recording& recorded = recording(id);
  ASSERT_EQ(recorded.tokens.size(), prompt.size() + expected.size() - 1) << "nobody has read the last one";
  for (std::size_t n = 0; n + 1 < expected.size(); ++n) EXPECT_EQ(recorded.tokens[prompt.size() + n].id, expected[n]);
  // The recording predicts each token as generation did.
  const std::string at = std::to_string(prompt.size() - 1);
  const json next = get(id + "/predictions", {{"at", at}, {"top", "5"}})["places"][0];
  for (std::size_t c = 0; c < 5; ++c) {
    EXPECT_EQ(next["choices"][c]["id"], found[0]["choices"][c]["id"]);
    EXPECT_NEAR(next["choices"][c]["probability"], found[0]["choices"][c]["probability"], 1e-5);
  }
  EXPECT_NEAR(next["entropy"], found[0]["entropy"], 1e-4);
}

TEST_F(LiveStore, AnEncoderDecoderAnswers) {
  const std::string id = make({{"model", "t5"}, {"text", kText}, {"generate", {{"tokens", 5}}}});
  const auto ids = reader("t5").tokenizer.encode(kText).ids();
  const auto expected = model::generate(*reader("t5").model, ids, {.tokens = 5}, {.pool = *pool_});
  const model::Recording& recorded = recording(id);
  ASSERT_EQ(recorded.written.size(), expected.size());
  for (std::size_t n = 0; n < expected.size(); ++n) EXPECT_EQ(recorded.written[n].id, expected[n]);
  EXPECT_EQ(get(id)["generated"]["steps"].size(), expected.size());
}

TEST_F(LiveStore, AMaskAppliesToGeneratedTokensToo) {
  const json body = {{"model", "gpt2"}, {"text", kText}, {"mask", "window(2)"}, {"generate", {{"tokens", 5}}}};
  const std::string id = make(body);
  std::vector<std::int32_t> said = model::prompt_ids(reader("gpt2"), kText);
  const json steps = get(id)["generated"]["steps"];
  for (const json& step : steps) {  // recomputes each token without a cache
    const model::Pass pass{.pool = *pool_, .also = parse_mask("window(2)")};
    const nn::Matrix hidden = reader("gpt2").model->decode(model::Batch(said), pass);
    const nn::Matrix logits = reader("gpt2").model->logits(nn::rows_of(hidden.view(), hidden.rows() - 1, 1), *pool_);
    const auto best = model::likeliest({logits.data(), static_cast<std::size_t>(logits.columns())}, 1)[0];
    EXPECT_EQ(step["id"], best.id);
    EXPECT_NEAR(step["probability"], best.probability, 1e-5);
    said.push_back(best.id);
  }
}

TEST_F(LiveStore, InductionScoresAreTheModelsOwnAndComputedOnce) {
  const auto scores = insight::induction_scores(reader("gpt2"), *pool_);
  const auto first = store_.models().induction("gpt2", {}, *pool_),
             second = store_.models().induction("gpt2", {}, *pool_);
  EXPECT_EQ(first, second);
  for (std::int64_t i = 0; i < scores.rows() * scores.columns(); ++i) EXPECT_EQ(first->data()[i], scores.data()[i]);
}

TEST_F(LiveStore, ARecordingWithoutItsModelCannotPredict) {
  const model::Reader elsewhere = model::Reader::load(folder_of("roberta"));
  store_.add("roberta", std::make_shared<insight::RecordedTables>(
                            model::read(elsewhere, {.text = kText, .pair = {}, .target = {}}, {}, *pool_)));
  const json facts = get("1");
  EXPECT_EQ(facts["live"], false);
  EXPECT_EQ(facts["origin"], nullptr);
  EXPECT_EQ(facts["model"]["type"], "roberta");
  EXPECT_EQ(facts["measures"], (json{"raw", "rollout"}));
  for (const char* const what : {"predictions", "effects"})
    EXPECT_EQ(ask({.path = std::string("/api/recordings/1/") + what}).status, 409) << what;
}

TEST_F(LiveStore, ARecordingOfAnAvailableModelIsLive) {
  store_.add("bert", std::make_shared<insight::RecordedTables>(
                         model::read(reader("bert"), {.text = kText, .pair = {}, .target = {}}, {}, *pool_)));
  EXPECT_EQ(get("1")["live"], true);
  EXPECT_EQ(get("1")["origin"]["text"], kText);
  EXPECT_EQ(make({{"model", "bert"}, {"text", kText}}), "1");
}

TEST_F(LiveStore, RejectsLongTexts) {
  EXPECT_EQ(refusal({{"model", "bert"}, {"text", std::string(1'000'001, 'a')}}, 413),
            "the text has 1000001 bytes; at most 1000000 are allowed");
  std::string words;
  for (int n = 0; n < 33'000; ++n) words += "a ";
  const std::string wrong = refusal({{"model", "bert"}, {"text", words}}, 413);
  EXPECT_EQ(wrong.substr(wrong.find(';')), "; at most 32768 are allowed");
  refusal({{"model", "gpt2"}, {"text", "a"}, {"generate", {{"tokens", 40'000}}}}, 413);
}

TEST_F(LiveStore, RejectsTooMuchWorkAtOnce) {
  std::vector<std::unique_ptr<RecordingStore::Turn>> turns;
  for (int n = 0; n < kMostWork; ++n) turns.push_back(std::make_unique<RecordingStore::Turn>(store_));
  EXPECT_EQ(refusal({{"model", "bert"}, {"text", kText}}, 429), "too much work at once: at most 32 tasks");
  turns.pop_back();
  const std::string id = make({{"model", "bert"}, {"text", kText}});
  turns.push_back(std::make_unique<RecordingStore::Turn>(store_));
  EXPECT_EQ(make({{"model", "bert"}, {"text", kText}}), id) << "an existing recording takes no work";
}

TEST_F(LiveStore, CancelledWorkEndsBetweenLayers) {
  int request = 0;
  const Client client{.waits = [&] { return ++request < 2; }};
  EXPECT_EQ(post({{"model", "bert"}, {"text", kText}}, client).status, 503);
  EXPECT_EQ(request, 2) << "asked before each layer";
  EXPECT_TRUE(store_.recordings().empty());
  EXPECT_EQ(make({{"model", "bert"}, {"text", kText}}), "1");
}

TEST_F(LiveStore, ReportsProgress) {
  std::vector<std::string> found;
  const Client client{.tell = [&](std::string_view event, const std::string& text) {
    if (event == "progress") found.push_back(text);
  }};
  ASSERT_EQ(post({{"model", "bert"}, {"text", kText}}, client).status, 200);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(json::parse(found[0])["what"], "layer");
  EXPECT_EQ(json::parse(found[0])["total"], reader("bert").model->facts().layers);
}

// Room for a few short texts.
class SmallStore : public LiveStore {
 protected:
  SmallStore() : LiveStore(300'000) {}
  json body(int n) { return {{"model", "bert"}, {"text", "text number " + std::to_string(n)}}; }
};

TEST_F(SmallStore, EvictsTheLeastRecentlyUsedAndMakesThemAgain) {
  const std::string first = make(body(0)), second = make(body(1));
  for (int n = 2; n < 40; ++n) {
    make(body(n));
    static_cast<void>(store_.find(first));
    ASSERT_LE(store_.kept_bytes(), 300'000);
  }
  EXPECT_EQ(ask({.path = "/api/recordings/" + first}).status, 200) << "it was used all the time";
  EXPECT_EQ(ask({.path = "/api/recordings/" + second}).status, 404);
  const std::string again = make(body(1));
  EXPECT_NE(again, second);
  EXPECT_EQ(get(again)["origin"]["text"], "text number 1");
}

TEST_F(SmallStore, KeepsRecordingsFromTheStart) {
  const std::string start = store_.make({.record_request = {.model = "bert", .text = "the start"}, .stays = true});
  for (int n = 0; n < 40; ++n) make(body(n));
  EXPECT_EQ(ask({.path = "/api/recordings/" + start}).status, 200);
}

TEST_F(SmallStore, RejectsARecordingLargerThanTheMemory) {
  std::string words;
  for (int n = 0; n < 300; ++n) words += "a ";
  const std::string wrong = refusal({{"model", "gpt2"}, {"text", words}}, 413);
  EXPECT_NE(wrong.find("would take"), std::string::npos) << wrong;
}

TEST_F(LiveStore, KeepsAtMostSixtyFourRecordings) {
  for (int n = 0; n < 70; ++n) make({{"model", "bert"}, {"text", "text number " + std::to_string(n)}});
  EXPECT_EQ(store_.recordings().size(), 64U);
}

}  // namespace
}  // namespace attn::server
