// tests/model/families/rope_test.cc - properties of rotary positions, and the frequencies that configurations select,
// against transformers (tests/golden/make_rope.py).
#include "nn/infer/rope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "attn/error.h"
#include "attn/thread_pool.h"
#include "model/families/rope_variants.h"
#include "tests/support/matrix.h"

namespace attn::model {
namespace {

using test::random_matrix;
using ::testing::HasSubstr;

constexpr std::int64_t kRopeHeads = 3;
constexpr std::int64_t kRopeWidth = 16;

std::vector<std::int64_t> positions_from(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(count));
  std::iota(positions.begin(), positions.end(), first);
  return positions;
}

// x, rotated as if its first row were at position `first`.
nn::Matrix turned(const nn::Matrix& x, std::int64_t first, const nn::Rope& rope, ThreadPool& pool) {
  nn::Matrix y(x.rows(), x.columns());
  std::copy_n(x.data(), x.rows() * x.columns(), y.data());
  nn::RopeTable table(x.rows(), static_cast<std::int64_t>(rope.frequencies.size()));
  table.fill(0, positions_from(first, x.rows()), rope);
  table.turn(y.view(), kRopeHeads, pool);
  return y;
}

double dot(const float* a, const float* b) {
  double sum = 0;
  for (std::int64_t d = 0; d < kRopeWidth; ++d) sum += static_cast<double>(a[d]) * static_cast<double>(b[d]);
  return sum;
}

RopeVariant variant(const std::string& config, std::int64_t head_width = 16) {
  return {Config::parse(config, "config.json"), head_width};
}

std::string variant_message(const std::string& config) {
  try {
    variant(config);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Rope, PairsAreHalfAHeadApartAndRotateByPositionTimesFrequency) {
  ThreadPool pool(1);
  const nn::Rope rope{nn::rope_frequencies(100, kRopeWidth), 1};
  const nn::Matrix x = random_matrix(1, kRopeHeads * kRopeWidth, 1);
  const nn::Matrix y = turned(x, 7, rope, pool);
  for (std::int64_t h = 0; h < kRopeHeads; ++h) {
    for (std::int64_t i = 0; i < kRopeWidth / 2; ++i) {
      const double angle = 7 * std::pow(100.0, -2.0 * static_cast<double>(i) / kRopeWidth);
      const double a = x.data()[h * kRopeWidth + i];
      const double b = x.data()[h * kRopeWidth + i + kRopeWidth / 2];
      EXPECT_NEAR(y.data()[h * kRopeWidth + i], a * std::cos(angle) - b * std::sin(angle), 2e-6);
      EXPECT_NEAR(y.data()[h * kRopeWidth + i + kRopeWidth / 2], b * std::cos(angle) + a * std::sin(angle), 2e-6);
    }
  }
}

TEST(Rope, ProductsOfRotatedRowsDependOnDistanceAlone) {
  ThreadPool pool(1);
  const nn::Rope rope{nn::rope_frequencies(10000, kRopeWidth), 1};
  const nn::Matrix x = random_matrix(6, kRopeHeads * kRopeWidth, 2);
  const nn::Matrix near = turned(x, 0, rope, pool);
  const nn::Matrix far = turned(x, 300, rope, pool);
  for (std::int64_t i = 0; i < 6; ++i)
    for (std::int64_t j = 0; j < 6; ++j) EXPECT_NEAR(dot(near.row(i), near.row(j)), dot(far.row(i), far.row(j)), 1e-3);
}

TEST(Rope, PositionZeroRotatesNothing) {
  ThreadPool pool(1);
  const nn::Matrix x = random_matrix(1, kRopeHeads * kRopeWidth, 3);
  const nn::Matrix y = turned(x, 0, {nn::rope_frequencies(10000, kRopeWidth), 1}, pool);
  for (std::int64_t i = 0; i < x.columns(); ++i) EXPECT_EQ(x.data()[i], y.data()[i]);
}

TEST(Rope, NumbersBeyondTheRotatedPartStay) {
  ThreadPool pool(1);
  const nn::Matrix x = random_matrix(4, kRopeHeads * kRopeWidth, 4);
  const nn::Matrix y = turned(x, 5, {nn::rope_frequencies(10000, kRopeWidth / 2), 1}, pool);
  for (std::int64_t r = 0; r < 4; ++r) {
    for (std::int64_t c = 0; c < x.columns(); ++c) {
      const bool is_turned = c % kRopeWidth < kRopeWidth / 2;
      EXPECT_EQ(x.row(r)[c] != y.row(r)[c], is_turned) << "row " << r << ", column " << c;
    }
  }
}

TEST(Rope, FactorScalesEveryRotatedNumber) {
  ThreadPool pool(1);
  const nn::Matrix x = random_matrix(4, kRopeHeads * kRopeWidth, 5);
  const std::vector<float> frequencies = nn::rope_frequencies(10000, kRopeWidth);
  const nn::Matrix plain = turned(x, 5, {frequencies, 1}, pool);
  const nn::Matrix twice = turned(x, 5, {frequencies, 2}, pool);
  for (std::int64_t i = 0; i < 4 * x.columns(); ++i) EXPECT_EQ(2 * plain.data()[i], twice.data()[i]);
}

TEST(Rope, AnyNumberOfThreadsAndRowsGivesTheSameBits) {
  ThreadPool one(1);
  ThreadPool three(3);
  const nn::Rope rope{nn::rope_frequencies(10000, kRopeWidth), 1};
  const nn::Matrix x = random_matrix(2000, kRopeHeads * kRopeWidth, 6);
  const nn::Matrix alone = turned(x, 0, rope, one);
  const nn::Matrix together = turned(x, 0, rope, three);
  EXPECT_TRUE(std::equal(alone.data(), alone.data() + x.rows() * x.columns(), together.data()));

  nn::Matrix last(1, x.columns());
  std::copy_n(x.row(1999), x.columns(), last.data());
  EXPECT_TRUE(std::equal(alone.row(1999), alone.row(1999) + x.columns(), turned(last, 1999, rope, one).data()));
}

TEST(RopeVariant, FrequenciesAndFactorsEqualThoseOfTransformers) {
  std::ifstream file(ATTNSCOPE_GOLDEN "/rope.json");
  const nlohmann::json golden = nlohmann::json::parse(file);
  ASSERT_GE(golden["cases"].size(), 12U);
  for (const nlohmann::json& c : golden["cases"]) {
    const nlohmann::json& config = c["config"];
    const auto shared = config["hidden_size"].get<std::int64_t>() / config["num_attention_heads"].get<std::int64_t>();
    const RopeVariant rope = variant(config.dump(), config.value("head_dim", shared));
    for (const nlohmann::json& answer : c["answers"]) {
      SCOPED_TRACE(c["name"].get<std::string>() + " at " + answer["length"].dump());
      const nn::Rope ours = rope.at(answer["length"].get<std::int64_t>());
      EXPECT_NEAR(ours.factor, answer["factor"].get<double>(), 1e-6);
      const auto theirs = answer["frequencies"].get<std::vector<double>>();
      ASSERT_EQ(ours.frequencies.size(), theirs.size());
      for (std::size_t i = 0; i < theirs.size(); ++i) EXPECT_NEAR(ours.frequencies[i] / theirs[i], 1, 1e-6) << i;
    }
  }
}

TEST(RopeVariant, ScaledContextLengthFollowsTheFactor) {
  EXPECT_EQ(variant(R"({"max_position_embeddings": 64})").trained_tokens(), 64);
  EXPECT_EQ(
      variant(R"({"max_position_embeddings": 64, "rope_scaling": {"type": "linear", "factor": 2.5}})").trained_tokens(),
      160);
  EXPECT_EQ(
      variant(R"({"max_position_embeddings": 64, "rope_scaling": {"type": "dynamic", "factor": 2}})").trained_tokens(),
      128);
  const char* const yarn = R"({"max_position_embeddings": 96, "rope_scaling": {"type": "yarn", "factor": 4,
                              "original_max_position_embeddings": 32}})";
  EXPECT_EQ(variant(yarn).trained_tokens(), 128);
}

TEST(RopeVariant, UnknownKindListsTheKnownOnes) {
  const std::string message = variant_message(R"({"max_position_embeddings": 8, "rope_scaling": {"type": "twisted"}})");
  EXPECT_THAT(message, HasSubstr("config.json"));
  EXPECT_THAT(message, HasSubstr("'twisted'"));
  for (const char* kind : {"default", "linear", "dynamic", "llama3", "yarn", "longrope"})
    EXPECT_THAT(message, HasSubstr(kind));
}

TEST(RopeVariant, InvalidNumbersAreNamed) {
  EXPECT_THAT(variant_message(R"({"max_position_embeddings": 8, "rope_theta": -1})"), HasSubstr("rope_theta"));
  EXPECT_THAT(variant_message(R"({"max_position_embeddings": 8, "rope_scaling": {"type": "linear"}})"),
              HasSubstr("factor"));
  EXPECT_THAT(variant_message(R"({"max_position_embeddings": 8, "rope_scaling": {"type": "linear", "factor": 0}})"),
              HasSubstr("factor of rotary positions must be above 0"));
  EXPECT_THAT(variant_message(R"({"max_position_embeddings": 8, "rope_scaling": {"type": "llama3", "factor": 8,
                            "low_freq_factor": 4, "high_freq_factor": 4}})"),
              HasSubstr("high_freq_factor"));
  EXPECT_THAT(variant_message(R"({"max_position_embeddings": 8, "rope_scaling": {"type": "longrope",
                            "short_factor": [1, 2], "long_factor": [1, 2]}})"),
              HasSubstr("short_factor has 2 numbers, but a head rotates 8 pairs"));
  EXPECT_THAT(variant_message(R"({"max_position_embeddings": 8, "rope_scaling": {"type": "linear", "factor": 2,
                            "partial_rotary_factor": 0.2}})"),
              HasSubstr("3 of the 16"));
  EXPECT_THAT(variant_message(R"({"max_position_embeddings": 8, "rope_parameters": {"full_attention":
                            {"rope_type": "default"}}})"),
              HasSubstr("layer to layer"));
}

}  // namespace
}  // namespace attn::model
