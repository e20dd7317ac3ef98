#include "insight/paths/trace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

namespace attn::insight {
namespace {

struct Case {
  const char* model;
  Kind kind;
};

class TraceLaws : public testing::TestWithParam<Case> {
 protected:
  TraceLaws()
      : reader_(model::Reader::load(std::filesystem::path(ATTNSCOPE_GOLDEN) / "models" / GetParam().model)),
        recording_(read({.values = true, .inputs = true})) {}

  model::Recording read(model::Keep keep) {
    model::Text text{.text = "The animal was too tired", .pair = {}, .target = {}};
    if (reader_.model->facts().form == model::Form::encoder_decoder) text.target = "It was not";
    return model::read(reader_, text, keep, pool_);
  }
  Trace at(std::int64_t query, std::optional<std::int64_t> key) {
    return trace(recording_, {{GetParam().kind, 1, 2}, query, key}, reader_.model.get(), pool_);
  }

  ThreadPool pool_{1};
  model::Reader reader_;
  model::Recording recording_;
};

TEST_P(TraceLaws, NumbersAreConsistent) {
  const auto [n, m] = recording_.log.size(GetParam().kind);
  const nn::Matrix table = recording_.log.weights({GetParam().kind, 1, 2, 0}, pool_);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < m; ++j) {
      const Trace t = at(i, j);
      EXPECT_EQ(t.dot, std::accumulate(t.products.begin(), t.products.end(), 0.0));
      if (t.allowed) {
        EXPECT_EQ(t.score, t.dot * t.scale + t.bias.value_or(0));
      } else {
        EXPECT_EQ(t.score, -std::numeric_limits<double>::infinity());
      }
      EXPECT_EQ(t.weight, std::exp(t.score - t.lse));
      EXPECT_NEAR(t.weight, table.row(i)[j], 1e-5) << i << ", " << j;
    }
  }
}

TEST_P(TraceLaws, SharesOfAllKeysSumToOneAndContributionsToTheWhole) {
  const std::int64_t keys = recording_.log.size(GetParam().kind)[1];
  double shares = 0;
  std::vector<double> sum;
  for (std::int64_t j = 0; j < keys; ++j) {
    const Trace t = at(2, j);
    shares += t.share.value();
    sum.resize(t.contribution.size());
    for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += t.contribution[c];
    if (j + 1 < keys) continue;
    for (std::size_t c = 0; c < sum.size(); ++c) EXPECT_NEAR(sum[c], t.head_output[c], 1e-4);
  }
  EXPECT_NEAR(shares, 1, 1e-4);
}

TEST_P(TraceLaws, WithoutAKeyTheLargestWeightIsTaken) {
  const Trace largest = at(2, {});
  for (std::int64_t j = 0; j < recording_.log.size(GetParam().kind)[1]; ++j)
    EXPECT_LE(at(2, j).weight, largest.weight + 1e-6);
}

TEST_P(TraceLaws, WhatWasNotRecordedIsAbsent) {
  const model::Recording bare = read({}), norms = read({.value_norms = true});
  const Trace t = trace(bare, {{GetParam().kind, 1, 2}, 1, 0}, reader_.model.get(), pool_);
  EXPECT_TRUE(t.x.empty() && t.v.empty() && t.contribution.empty() && !t.contribution_norm && !t.share);
  const Trace with = trace(norms, {{GetParam().kind, 1, 2}, 1, 0}, nullptr, pool_);
  EXPECT_NEAR(with.contribution_norm.value(), at(1, 0).contribution_norm.value(), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Models, TraceLaws,
                         testing::Values(Case{"bert", Kind::self}, Case{"gpt2", Kind::self}, Case{"llama", Kind::self},
                                         Case{"t5", Kind::self}, Case{"t5", Kind::decoder}, Case{"t5", Kind::cross}),
                         [](const auto& which) {
                           return std::string(which.param.model) + "_" + std::string(name_of(which.param.kind));
                         });

TEST(Trace, ErrorNamesAMissingHeadOrToken) {
  ThreadPool pool(1);
  const model::Reader reader = model::Reader::load(std::filesystem::path(ATTNSCOPE_GOLDEN) / "models" / "bert");
  const model::Recording recording = model::read(reader, {.text = "the", .pair = {}, .target = {}}, {}, pool);
  const auto refusal = [&](const TracePlace& place) -> std::string {
    try {
      static_cast<void>(trace(recording, place, nullptr, pool));
    } catch (const std::invalid_argument& wrong) {
      return wrong.what();
    }
    return "taken";
  };
  EXPECT_EQ(refusal({{Kind::self, 0, 4}, 0, {}}), "there is no head 4: heads count from 0 to 3");
  EXPECT_EQ(refusal({{Kind::self, 0, 0}, -1, {}}), "there is no query -1: tokens count from 0 to 2");
  EXPECT_EQ(refusal({{Kind::self, 0, 0}, 0, 3}), "there is no key 3: tokens count from 0 to 2");
  EXPECT_NE(refusal({{Kind::self, 9, 0}, 0, {}}).find("layer 9"), std::string::npos);
  EXPECT_NE(refusal({{Kind::cross, 0, 0}, 0, {}}).find("cross"), std::string::npos);
}

}  // namespace
}  // namespace attn::insight
