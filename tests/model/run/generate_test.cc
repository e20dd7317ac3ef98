// tests/model/run/generate_test.cc - sampling, and the generation loop over a model whose next words are a small table.
#include "model/run/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/run/cache.h"
#include "tests/support/numbers.h"
#include "tests/support/random.h"

namespace attn::model {
namespace {

using test::kInfinity;
using test::kNan;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<float> random_logits(std::size_t count, std::uint64_t stream) {
  std::vector<float> logits(count);
  for (std::size_t i = 0; i < count; ++i) logits[i] = 2 * test::bell(stream, i);
  return logits;
}

std::vector<std::int32_t> draw(const Sampling& how, std::span<const float> logits, int times) {
  Sampler sample(how);
  std::vector<std::int32_t> ids;
  for (int i = 0; i < times; ++i) ids.push_back(sample(logits));
  return ids;
}

template <typename F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

TEST(Sampling, TokensAndProbabilitiesLeftEqualThoseOfTransformers) {
  std::ifstream file(ATTNSCOPE_GOLDEN "/sampling.json");
  const nlohmann::json golden = nlohmann::json::parse(file);
  ASSERT_GE(golden["cases"].size(), 6U);
  for (const nlohmann::json& c : golden["cases"]) {
    std::vector<float> logits;
    for (const nlohmann::json& x : c["logits"]) logits.push_back(x.is_null() ? -kInfinity : x.get<float>());
    for (const nlohmann::json& answer : c["answers"]) {
      SCOPED_TRACE(c["name"].get<std::string>() + " " + answer.dump());
      const std::vector<Choice> left = candidates(
          logits, {.temperature = answer["temperature"], .top_k = answer["top_k"], .top_p = answer["top_p"]});
      const auto ids = answer["ids"].get<std::vector<std::int32_t>>();
      const auto probabilities = answer["probabilities"].get<std::vector<double>>();
      ASSERT_EQ(left.size(), ids.size());
      for (std::size_t i = 0; i < ids.size(); ++i) {
        EXPECT_EQ(left[i].id, ids[i]);
        EXPECT_NEAR(left[i].probability, probabilities[i], 1e-6);
      }
    }
  }
}

TEST(Sampling, CoolingTopKOfOneAndATinyTopPAllEqualGreedy) {
  for (std::uint64_t stream = 0; stream < 20; ++stream) {
    const std::vector<float> logits = random_logits(1000, stream);
    const auto top = static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    EXPECT_THAT(draw({}, logits, 2), ElementsAre(top, top));
    EXPECT_THAT(draw({.temperature = 1e-6, .seed = stream}, logits, 2), ElementsAre(top, top));
    EXPECT_THAT(draw({.temperature = 1e-320, .seed = stream}, logits, 2), ElementsAre(top, top));
    EXPECT_THAT(draw({.temperature = 3, .top_k = 1, .seed = stream}, logits, 2), ElementsAre(top, top));
    EXPECT_THAT(draw({.temperature = 3, .top_p = 1e-9, .seed = stream}, logits, 2), ElementsAre(top, top));
  }
}

TEST(Sampling, GreedyTakesTheFirstOfEqualMaxima) {
  const std::vector<float> logits = {0, 3, -1, 3, 3};
  EXPECT_THAT(draw({}, logits, 1), ElementsAre(1));
  std::vector<float> many(100, -2.0F);
  many[37] = many[64] = many[99] = 5;
  EXPECT_THAT(draw({}, many, 1), ElementsAre(37));
}

TEST(Sampling, FrequenciesMatchTheSoftmax) {
  const std::vector<float> logits = {1, 0, 2, -1, 0.5F, -kInfinity};
  const int times = 40000;
  for (const double temperature : {0.5, 1.0, 2.0}) {
    std::vector<double> counts(logits.size());
    for (const std::int32_t id : draw({.temperature = temperature, .seed = 11}, logits, times))
      counts[static_cast<std::size_t>(id)] += 1;
    double sum = 0;
    for (const float x : logits) sum += std::exp(static_cast<double>(x) / temperature);
    double chi_squared = 0;
    for (std::size_t i = 0; i + 1 < logits.size(); ++i) {
      const double expected = times * std::exp(static_cast<double>(logits[i]) / temperature) / sum;
      chi_squared += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    EXPECT_LT(chi_squared, 18.5);  // 4 degrees of freedom: one seed in a thousand exceeds it
    EXPECT_EQ(counts.back(), 0);
  }
}

TEST(Sampling, ASeedGivesTheSameDrawsAndAnotherSeedOthers) {
  const std::vector<float> logits = random_logits(50, 3);
  const Sampling how{.temperature = 1.5, .top_k = 30, .top_p = 0.95, .seed = 42};
  Sampling other = how;
  other.seed = 43;
  EXPECT_EQ(draw(how, logits, 100), draw(how, logits, 100));
  EXPECT_NE(draw(how, logits, 100), draw(other, logits, 100));
}

// Text must not change from one version to the next: SplitMix64 from seed 0 begins e220a8397b1dcdaf, 6e789e6aa1b965f4,
// 06c45d188009454f, f88bb8a8724c81ec: 0.883, 0.431, 0.026, 0.971.
TEST(Sampling, DrawsComeFromSplitMix64) {
  const std::vector<float> logits(10, 0.0F);
  EXPECT_THAT(draw({.temperature = 1}, logits, 4), ElementsAre(8, 4, 0, 9));
}

TEST(Sampling, BadSettingsThrowWithTheValue) {
  const auto message = [](const Sampling& how) { return message_of([&] { Sampler{how}; }); };
  EXPECT_THROW(Sampler({.temperature = -0.5}), std::invalid_argument);
  EXPECT_THAT(message({.temperature = -0.5}), HasSubstr("not -0.5"));
  EXPECT_THAT(message({.temperature = std::nan("")}), HasSubstr("nan"));
  EXPECT_THAT(message({.temperature = HUGE_VAL}), HasSubstr("inf"));
  EXPECT_THAT(message({.top_k = -3}), HasSubstr("not -3"));
  EXPECT_THAT(message({.top_p = 0}), HasSubstr("not 0"));
  EXPECT_THAT(message({.top_p = 1.25}), HasSubstr("not 1.25"));
  EXPECT_EQ(message({.temperature = 0.1, .top_k = 5, .top_p = 1}), "no error");
}

TEST(Sampling, NanLogitsThrow) {
  for (const std::size_t size : {1U, 7U, 16U, 40U}) {
    for (const double temperature : {0.0, 1.0}) {
      std::vector<float> logits = random_logits(size, 4);
      logits[size / 2] = kNan;
      EXPECT_THROW(draw({.temperature = temperature}, logits, 1), std::runtime_error) << size;
      logits[size / 2] = kInfinity;
      EXPECT_THROW(draw({.temperature = temperature}, logits, 1), std::runtime_error) << size;
      EXPECT_THROW(draw({.temperature = temperature}, std::vector<float>(size, -kInfinity), 1), std::runtime_error);
    }
    EXPECT_THROW(likeliest(std::vector<float>(size, kNan), 1), std::runtime_error);
  }
  EXPECT_THROW(draw({}, {}, 1), std::invalid_argument);
}

TEST(Likeliest, AreInDescendingOrderWithTiesById) {
  const std::vector<float> logits = {1, 3, -kInfinity, 3, 2};
  const std::vector<Choice> best = likeliest(logits, 4);
  ASSERT_EQ(best.size(), 4U);
  const double sum = std::exp(-2.0) + 1 + 1 + std::exp(-1.0);
  const std::int32_t ids[] = {1, 3, 4, 0};
  const double probabilities[] = {1 / sum, 1 / sum, std::exp(-1.0) / sum, std::exp(-2.0) / sum};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(best[i].id, ids[i]);
    EXPECT_NEAR(best[i].probability, probabilities[i], 1e-15);
  }
  EXPECT_EQ(likeliest(logits, 100).size(), 5U);
  EXPECT_TRUE(likeliest(logits, 0).empty());
  EXPECT_THROW(likeliest(logits, -1), std::invalid_argument);
}

// Word i is followed by word i + 1, the last one by 0. Records its inputs.
class Counting final : public Model {
 public:
  static constexpr std::int64_t kWords = 10;
  struct Call {
    std::vector<std::int32_t> ids;
    std::int64_t seen;
    bool has_memory;
  };

  explicit Counting(Form form = Form::decoder, std::int64_t max_tokens = 0) : Model(facts_of(form, max_tokens)) {}

  mutable std::vector<Call> calls;
  mutable std::vector<std::int64_t> rows_of_logits;
  mutable std::vector<std::int32_t> encoded;
  bool broken = false;

  using Model::facts_;

 private:
  static Facts facts_of(Form form, std::int64_t max_tokens) {
    Facts facts;
    facts.type = "counting";
    facts.form = form;
    facts.vocabulary = kWords;
    facts.width = 1;
    facts.max_tokens = max_tokens;
    facts.has_logits = true;
    facts.decoder_start = form == Form::encoder_decoder ? 5 : -1;
    return facts;
  }

  nn::Matrix do_encode(const Batch& batch, const Pass&) const override {
    encoded = batch.ids;
    return nn::Matrix(batch.tokens(), 1);
  }
  nn::Matrix do_decode(const Batch& batch, const Pass& pass) const override {
    calls.push_back({batch.ids, pass.cache != nullptr ? pass.cache->seen() : -1, pass.memory != nullptr});
    nn::Matrix hidden(batch.tokens(), 1);
    for (std::size_t i = 0; i < batch.ids.size(); ++i) hidden.data()[i] = static_cast<float>(batch.ids[i]);
    return hidden;
  }
  nn::Matrix do_logits(View<const float, 2> hidden, ThreadPool&) const override {
    rows_of_logits.push_back(hidden.shape[0]);
    nn::Matrix logits(hidden.shape[0], kWords);
    for (std::int64_t r = 0; r < hidden.shape[0]; ++r) {
      std::fill_n(logits.row(r), kWords, broken ? kNan : 0.0F);
      logits.row(r)[(static_cast<std::int64_t>(*hidden.at(r)) + 1) % kWords] += 4;
    }
    return logits;
  }
};

TEST(Generate, ReadsThePromptOnceThenATokenAtATime) {
  ThreadPool pool(1);
  const Counting model;
  const std::int32_t prompt[] = {7, 1, 2};
  EXPECT_THAT(generate(model, prompt, {.tokens = 4}, {.pool = pool}), ElementsAre(3, 4, 5, 6));
  ASSERT_EQ(model.calls.size(), 4U);  // the last token is not read
  EXPECT_THAT(model.calls[0].ids, ElementsAre(7, 1, 2));
  EXPECT_EQ(model.calls[0].seen, 0);
  EXPECT_THAT(model.calls[1].ids, ElementsAre(3));
  EXPECT_EQ(model.calls[1].seen, 3);
  EXPECT_THAT(model.calls[3].ids, ElementsAre(5));
  EXPECT_EQ(model.calls[3].seen, 5);
  EXPECT_THAT(model.rows_of_logits, ElementsAre(1, 1, 1, 1));
}

TEST(Generate, StopsAtAnEndTokenAndReturnsIt) {
  ThreadPool pool(1);
  Counting model;
  model.facts_.eos = {9, 4};
  std::vector<std::int32_t> heard;
  const std::int32_t prompt[] = {2};
  const auto hear = [&](std::int32_t id) {
    heard.push_back(id);
    return true;
  };
  EXPECT_THAT(generate(model, prompt, {.tokens = 20}, {.pool = pool}, hear), ElementsAre(3, 4));
  EXPECT_THAT(heard, ElementsAre(3, 4));
}

TEST(Generate, StopsWhenOnTokenReturnsFalse) {
  ThreadPool pool(1);
  const Counting model;
  const std::int32_t prompt[] = {2};
  EXPECT_THAT(generate(model, prompt, {}, {.pool = pool}, [](std::int32_t id) { return id != 5; }),
              ElementsAre(3, 4, 5));
}

TEST(Generate, StopsWherePositionsEnd) {
  ThreadPool pool(1);
  const Counting model(Form::decoder, 4);
  const std::int32_t prompt[] = {1, 2};
  EXPECT_THAT(generate(model, prompt, {.tokens = 20}, {.pool = pool}), ElementsAre(3, 4, 5));
  const std::int32_t full[] = {1, 1, 1, 1};
  EXPECT_THAT(generate(model, full, {.tokens = 20}, {.pool = pool}), ElementsAre(2));
  const std::int32_t too_long[] = {1, 1, 1, 1, 1};
  EXPECT_THROW(generate(model, too_long, {.tokens = 20}, {.pool = pool}), std::invalid_argument);
}

TEST(Generate, ContinuesWhereACacheEnds) {
  ThreadPool pool(1);
  const Counting model;
  Cache cache;
  const std::int32_t first[] = {1, 2};
  const std::int32_t second[] = {7};
  EXPECT_THAT(generate(model, first, {.tokens = 2}, {.pool = pool, .cache = &cache}), ElementsAre(3, 4));
  EXPECT_EQ(cache.seen(), 3);
  EXPECT_THAT(generate(model, second, {.tokens = 1}, {.pool = pool, .cache = &cache}), ElementsAre(8));
  EXPECT_EQ(model.calls.back().seen, 3);
}

TEST(Generate, AnEncoderDecoderReadsThePromptAndBeginsWithItsStartToken) {
  ThreadPool pool(1);
  const Counting model(Form::encoder_decoder);
  const std::int32_t prompt[] = {1, 2, 3};
  EXPECT_THAT(generate(model, prompt, {.tokens = 3}, {.pool = pool}), ElementsAre(6, 7, 8));
  EXPECT_THAT(model.encoded, ElementsAre(1, 2, 3));
  EXPECT_THAT(model.calls[0].ids, ElementsAre(5));
  for (const Counting::Call& call : model.calls) EXPECT_TRUE(call.has_memory);
}

TEST(Generate, ASeedGivesTheSameText) {
  ThreadPool pool(1);
  const Counting model;
  const std::int32_t prompt[] = {1};
  const auto text = [&](std::uint64_t seed) {
    return generate(model, prompt, {.tokens = 60, .sampling = {.temperature = 2, .seed = seed}}, {.pool = pool});
  };
  EXPECT_EQ(text(1), text(1));
  EXPECT_NE(text(1), text(2));
}

TEST(Generate, RefusesUnsupportedRequests) {
  ThreadPool pool(1);
  const std::int32_t prompt[] = {1};
  const auto message = [&](const Model& model, std::span<const std::int32_t> ids, const Generation& how = {}) {
    return message_of([&] { generate(model, ids, how, {.pool = pool}); });
  };
  Counting model;
  EXPECT_THAT(message(Counting(Form::encoder), prompt), HasSubstr("no decoder"));
  EXPECT_THAT(message(model, {}), HasSubstr("prompt is empty"));
  EXPECT_THAT(message(model, prompt, {.tokens = -2}), HasSubstr("not -2"));
  EXPECT_TRUE(generate(model, prompt, {.tokens = 0}, {.pool = pool}).empty());
  EXPECT_TRUE(model.calls.empty());
  model.broken = true;
  EXPECT_THAT(message(model, prompt), HasSubstr("NaN"));
  model.facts_.has_logits = false;
  EXPECT_THAT(message(model, prompt), HasSubstr("no language-model head"));
  Counting answering(Form::encoder_decoder);
  answering.facts_.decoder_start = -1;
  EXPECT_THAT(message(answering, prompt), HasSubstr("starts with"));
}

}  // namespace
}  // namespace attn::model
