// tests/engine/attention/attention_options_test.cc - each option alone, where the result is known in advance.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "attn/attention.h"
#include "tests/support/numbers.h"
#include "tests/support/problem.h"
#include "tests/support/reference.h"
#include "tests/support/targets.h"

namespace attn::test {
namespace {

TEST(Scale, DefaultIsOneOverTheRootOfTheWidth) {
  Problem p = plain_problem({1, 2, 2, 20, 70, 25, 9});
  const Results by_default = run(p);
  p.options.scale = 0.2F;
  const Results given = run(p);
  EXPECT_LE(distance(by_default.out, given.out), 1e-6);
}

TEST(Scale, ZeroGivesEveryAllowedKeyTheSameWeight) {
  Problem p = plain_problem({1, 1, 1, 40, 40, 8, 8});
  p.options.scale = 0.0F;
  p.options.mask = Causal{};
  const Results r = run(p, 1, true);
  for (std::int64_t i = 0; i < 40; ++i) {
    EXPECT_NEAR(r.lse.get({0, 0, 0, i}), std::log(static_cast<double>(i + 1)), 1e-5);
    for (std::int64_t j = 0; j < 40; ++j)
      EXPECT_NEAR(r.weights.get({0, 0, i, j}), j <= i ? 1 / static_cast<double>(i + 1) : 0, 1e-6);
  }
}

TEST(Scale, NegativeReversesTheOrder) {
  Problem p = plain_problem({1, 2, 2, 20, 70, 16, 16});
  p.options.scale = -0.7F;
  const Results negative = run(p);
  Problem mirrored = plain_problem(p.sizes);
  each(p.q.shape(), [&](const Shape<4>& at) { mirrored.q.set(at, -p.q.get(at)); });
  mirrored.options.scale = 0.7F;
  EXPECT_LE(distance(negative.out, run(mirrored).out), 1e-6);
}

TEST(Softcap, LargeCapChangesNothingAndSmallCapFlattens) {
  Problem p = plain_problem({1, 2, 2, 20, 70, 16, 16});
  const Results plain = run(p);
  p.options.softcap = 1e6F;
  EXPECT_LE(distance(plain.out, run(p).out), 1e-5);
  p.options.softcap = 1e-6F;
  const Results flat = run(p, 1, true);
  each(flat.weights.shape(), [&](const Shape<4>& at) { EXPECT_NEAR(flat.weights.get(at), 1.0 / 70, 1e-6); });
}

TEST(Softcap, ScoreBeyondFloatIsHeldAtTheCap) {
  Problem p = plain_problem({1, 1, 1, 3, 70, 8, 8});
  p.q.fill_with(1e20F);
  p.k.fill_with(0.0F);
  p.k.set({0, 0, 5, 0}, 1e30F);  // its score is +inf, and tanh of that is 1
  p.options.softcap = 10.0F;
  const Results r = run(p, 1, true);
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(r.weights.get({0, 0, i, 5}), std::exp(10.0) / (std::exp(10.0) + 69), 1e-5);
    EXPECT_NEAR(r.lse.get({0, 0, 0, i}), std::log(std::exp(10.0) + 69), 1e-4);
  }
}

TEST(DistanceBias, MinusInfinityAboveTheDiagonalIsCausal) {
  Problem p = plain_problem({2, 3, 1, 90, 70, 16, 16});
  p.options.mask = Causal{};
  const Results causal = run(p);
  p.options.mask = {};
  p.give_bias(1, false);
  for (std::size_t n = 0; n < p.bias.size(); ++n) p.bias[n] = static_cast<std::int64_t>(n) - 89 <= 0 ? 0 : -kInfinity;
  const Results biased = run(p);
  EXPECT_LE(distance(causal.out, biased.out), 2e-6);
  EXPECT_LE(distance(causal.lse, biased.lse), 2e-6);
}

TEST(DistanceBias, OneTableForAllHeadsEqualsOneForEach) {
  Problem p = plain_problem({1, 3, 3, 33, 70, 16, 16});
  p.give_bias(4, false);
  const Results shared = run(p);
  const std::vector<float> one = p.bias;
  p.give_bias(4, true);
  for (std::size_t n = 0; n < p.bias.size(); ++n) p.bias[n] = one[n % one.size()];
  EXPECT_LE(distance(shared.out, run(p).out), 1e-6);
}

TEST(DistanceBias, RowsOfTheTableMayHaveAnyStride) {
  Problem p = plain_problem({1, 3, 3, 33, 70, 16, 16});
  p.give_bias(4, true);
  const Results dense = run(p);
  const std::int64_t width = 33 + 70 - 1;
  std::vector<float> apart(static_cast<std::size_t>(3 * (width + 5)), std::nanf(""));
  for (std::int64_t h = 0; h < 3; ++h)
    for (std::int64_t n = 0; n < width; ++n) apart[h * (width + 5) + n] = p.bias[h * width + n];
  p.options.bias = {apart.data(), {3, width}, {width + 5, 1}};
  EXPECT_TRUE(same_bits(dense.out, run(p).out));
}

TEST(DenseBias, EqualsTheSameNumbersAsAnAdditiveMask) {
  Problem p = plain_problem({2, 2, 1, 33, 70, 16, 16});
  p.give_dense_bias(9, {2, 1, 33, 70});
  p.dense_bias[3] = -kInfinity;
  const Results as_bias = run(p);
  p.options.dense_bias = {};
  p.options.mask = additive(View<const float, 4>(p.dense_bias.data(), {2, 1, 33, 70}));
  EXPECT_LE(distance(as_bias.out, run(p).out), 2e-6);
}

TEST(DenseBias, MaskWithABiasAndADenseBiasAreAdded) {
  Problem p = plain_problem({2, 2, 1, 33, 70, 16, 16});
  p.give_dense_bias(9, {1, 2, 33, 70});
  std::vector<float> more(2 * 70);
  for (std::size_t n = 0; n < more.size(); ++n) more[n] = n % 5 == 0 ? -kInfinity : bell(5, n);
  p.options.mask = additive(View<const float, 4>(more.data(), {2, 1, 1, 70})) & Causal{40};
  p.give_bias(11, true);
  const Textbook book = textbook(p.inputs(), p.options);
  const Results r = run(p);
  EXPECT_TRUE(out_agrees(book, r.out.floats()));
  EXPECT_TRUE(lse_agrees(book, r.lse_view()));
}

TEST(Sink, TakesItsShareOfTheWeightAndAddsNoValue) {
  Problem p = plain_problem({1, 2, 2, 5, 70, 16, 16});
  const Results without = run(p);
  p.give_sink(3);
  p.sink = {1.5F, -200.0F};
  const Results with = run(p, 1, true);
  each(without.lse.shape(), [&](const Shape<4>& at) {
    const double lse = without.lse.get(at), sink = p.sink[static_cast<std::size_t>(at[2])];
    const double both = std::log(std::exp(lse) + std::exp(sink));
    EXPECT_NEAR(with.lse.get(at), both, 1e-5);
    double sum = 0;
    for (std::int64_t j = 0; j < 70; ++j) sum += with.weights.get({at[1], at[2], at[3], j});
    EXPECT_NEAR(sum, std::exp(lse - both), 1e-5);
    for (std::int64_t e = 0; e < 16; ++e)
      EXPECT_NEAR(with.out.get({at[1], at[2], at[3], e}),
                  std::exp(lse - both) * without.out.get({at[1], at[2], at[3], e}), 1e-5);
  });
}

TEST(Sink, RowThatSeesNothingHasTheSinksLogit) {
  Problem p = plain_problem({1, 1, 1, 20, 70, 8, 8});
  p.give_sink(3);
  p.sink = {1.5F};
  p.options.mask = Causal{-2};
  const Results r = run(p);
  for (std::int64_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(r.lse.get({0, 0, 0, i}), 1.5, 1e-6);
    for (std::int64_t e = 0; e < 8; ++e) EXPECT_EQ(r.out.get({0, 0, i, e}), 0);
  }
}

TEST(Sink, FarAboveEveryScoreLeavesNoWeight) {
  Problem p = plain_problem({1, 1, 1, 14, 70, 8, 8});
  p.give_sink(3);
  p.sink = {1e6F};
  const Results r = run(p);
  each(r.out.shape(), [&](const Shape<4>& at) { EXPECT_EQ(r.out.get(at), 0); });
  EXPECT_EQ(r.lse.get({0, 0, 0, 3}), 1e6F);
}

TEST(DropoutRule, KeepsTheShareItPromisesAndDependsOnEveryIndex) {
  const Dropout dropout{0.3F, 42};
  double kept = 0;
  int differs[4] = {};
  for (std::int64_t i = 0; i < 200; ++i)
    for (std::int64_t j = 0; j < 200; ++j) {
      const bool here = dropout_keeps(dropout, 0, 0, i, j);
      kept += here;
      differs[0] += here != dropout_keeps(dropout, 1, 0, i, j);
      differs[1] += here != dropout_keeps(dropout, 0, 1, i, j);
      differs[2] += here != dropout_keeps({0.3F, 43}, 0, 0, i, j);
      differs[3] += here != dropout_keeps(dropout, 0, 0, j, i);
    }
  EXPECT_NEAR(kept / 40000, 0.7, 0.0115);                            // five standard deviations
  for (const int d : differs) EXPECT_NEAR(d / 40000.0, 0.42, 0.02);  // 2 * 0.7 * 0.3: independent
}

TEST(DropoutRule, DropsWeightsAfterTheyAreWritten) {
  Problem p = plain_problem({2, 2, 1, 30, 70, 16, 16});
  const Results without = run(p, 1, true);
  p.options.dropout = {0.4F, 7};
  const Results with = run(p, 1, true);
  EXPECT_LE(distance(without.lse, with.lse), 1e-6);
  EXPECT_LE(distance(without.weights, with.weights), 1e-6);
  EXPECT_GT(distance(without.out, with.out), 0.05);
}

TEST(DropoutRule, AverageOverSeedsIsTheOutputWithoutIt) {
  Problem p = plain_problem({1, 1, 1, 4, 70, 8, 8});
  const Results without = run(p);
  Tensor mean(without.out.shape());
  mean.fill_with(0);
  constexpr int kSeeds = 2000;
  for (int seed = 0; seed < kSeeds; ++seed) {
    p.options.dropout = {0.5F, static_cast<std::uint64_t>(seed)};
    const Results r = run(p);
    each(mean.shape(), [&](const Shape<4>& at) { mean.set(at, mean.get(at) + r.out.get(at) / kSeeds); });
  }
  EXPECT_LE(distance(mean, without.out), 0.06);
}

}  // namespace
}  // namespace attn::test
