#include "insight/experiments/ablation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "tests/support/random.h"

namespace attn::insight {
namespace {

// A model and its recording of a text.
struct Read {
  explicit Read(const std::string& name)
      : reader(model::Reader::load(std::filesystem::path(ATTNSCOPE_GOLDEN) / "models" / name)) {
    model::Text text{.text = "The animal was too tired", .pair = {}, .target = {}};
    if (reader.model->facts().form == model::Form::encoder_decoder) text.target = "It was not";
    recording = model::read(reader, text, {.attention = false}, pool);
  }
  [[nodiscard]] Ablation ablation(std::vector<std::int64_t> at) { return {reader, recording, std::move(at), pool}; }

  ThreadPool pool{2};
  model::Reader reader;
  model::Recording recording;
};

bool same_bits(const nn::Matrix& a, const nn::Matrix& b) {
  return a.rows() == b.rows() && std::equal(a.data(), a.data() + a.rows() * a.columns(), b.data());
}

template <typename Call>
std::string ablation_refusal(const Call& call) {
  try {
    call();
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  }
  return "taken";
}

class AblationLaws : public testing::TestWithParam<const char*> {};

TEST_P(AblationLaws, SwitchingNothingOffChangesNothing) {
  Read read(GetParam());
  const Ablation ablation = read.ablation({1, 2});
  EXPECT_TRUE(same_bits(ablation.before(), ablation.without({}, read.pool)));
  for (const double kl : ablation.divergence(ablation.before())) EXPECT_EQ(kl, 0);
}

TEST_P(AblationLaws, BatchedRankingEqualsOneHeadAtATime) {
  Read read(GetParam());
  const Ablation ablation = read.ablation({0, 2});
  const std::vector<HeadId> heads = heads_of(read.reader.model->facts());
  const std::vector<Ablation::Effect> ranked = ablation.rank(heads, {}, read.pool);
  ASSERT_EQ(ranked.size(), heads.size());
  double last = ranked[0].kl;
  EXPECT_GT(last, 0);
  for (const Ablation::Effect& effect : ranked) {
    EXPECT_LE(effect.kl, last);
    last = effect.kl;
    const nn::Matrix after = ablation.without(std::vector{effect.head}, read.pool);
    const std::vector<double> kl = ablation.divergence(after);
    EXPECT_NEAR(effect.kl, (kl[0] + kl[1]) / 2, 1e-6) << to_string(effect.head);
    for (std::int64_t i = 0; i < 2; ++i) {
      const float* const row = after.row(i);
      EXPECT_EQ(effect.likeliest[static_cast<std::size_t>(i)], std::max_element(row, row + after.columns()) - row);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, AblationLaws, testing::Values("bert", "gpt2", "llama", "t5", "bart"),
                         [](const auto& which) { return std::string(which.param); });

TEST(Ablation, SwitchesSeveralHeadsOffTogether) {
  Read read("gpt2");
  const Ablation ablation = read.ablation({3});
  const HeadId a{Kind::self, 0, 1}, b{Kind::self, 1, 0};
  const nn::Matrix both = ablation.without(std::vector{a, b}, read.pool);
  EXPECT_TRUE(same_bits(both, ablation.without(std::vector{b, a}, read.pool)));
  EXPECT_FALSE(same_bits(both, ablation.without(std::vector{a}, read.pool)));
}

TEST(Ablation, ExceptionFromProgressStopsTheWork) {
  Read read("gpt2");
  struct Enough {};
  const auto stop = [](std::int64_t, std::int64_t) { throw Enough(); };
  EXPECT_THROW(static_cast<void>(read.ablation({0}).rank(heads_of(read.reader.model->facts()), stop, read.pool)),
               Enough);
}

TEST(Ablation, ErrorNamesAMissingHeadOrToken) {
  Read bert("bert"), bare("bert-half");
  EXPECT_NE(ablation_refusal([&] { static_cast<void>(bare.ablation({0})); }).find("no language-model head"),
            std::string::npos);
  EXPECT_NE(ablation_refusal([&] { static_cast<void>(bert.ablation({99})); }).find("no token 99"), std::string::npos);
  EXPECT_NE(ablation_refusal([&] { static_cast<void>(bert.ablation({})); }).find("at least one token"),
            std::string::npos);
  const Ablation ablation = bert.ablation({0});
  const auto without = [&](HeadId head) {
    return ablation_refusal([&] { static_cast<void>(ablation.without(std::vector{head}, bert.pool)); });
  };
  EXPECT_EQ(without({Kind::self, 0, 4}), "there is no layer 0, head 4: layers count from 0 to 2, heads from 0 to 3");
  EXPECT_EQ(without({Kind::cross, 0, 0}), "a bert has no attention of kind 'cross', only self");
}

TEST(KlDivergence, IsZeroForEqualLogitsAndNeverNegative) {
  std::vector<float> a(100), b(100);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = 3 * test::bell(seed, i);
      b[i] = a[i] + 1e-4F * test::bell(seed + 1000, i);
    }
    EXPECT_EQ(kl_divergence(a, a), 0);
    EXPECT_GE(kl_divergence(a, b), 0);
    for (float& x : b) x += 50;  // a constant offset does not change the prediction
    EXPECT_LT(kl_divergence(a, b), 1e-6);
  }
}

TEST(KlDivergence, MatchesTheKnownValueForTwoCoins) {
  const std::vector<float> fair = {0, 0}, loaded = {0, std::log(3.0F)};
  EXPECT_NEAR(kl_divergence(fair, loaded), 0.5 * std::log(0.5 / 0.25) + 0.5 * std::log(0.5 / 0.75), 1e-7);
}

TEST(KlDivergence, HugeLogitsDoNotOverflow) {
  EXPECT_NEAR(kl_divergence(std::vector<float>{1e4F, 0}, std::vector<float>{0, 0}), std::log(2.0), 1e-6);
}

}  // namespace
}  // namespace attn::insight
