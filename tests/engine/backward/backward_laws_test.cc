// tests/engine/backward/backward_laws_test.cc - properties that gradients have for any numbers, and changes that must
// not affect them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "attn/backward.h"
#include "tests/engine/backward/backward_support.h"
#include "tests/support/numbers.h"
#include "tests/support/problem.h"
#include "tests/support/random.h"
#include "tests/support/targets.h"

namespace attn::test {
namespace {

double sum_of(const Tensor& t) {
  double sum = 0;
  each(t.shape(), [&](const Shape<4>& at) { sum += t.get(at); });
  return sum;
}
double product_of(const Tensor& a, const Tensor& b) {
  double sum = 0;
  each(a.shape(), [&](const Shape<4>& at) { sum += static_cast<double>(a.get(at)) * b.get(at); });
  return sum;
}
bool all_zero(const Tensor& t) {
  bool zero = true;
  each(t.shape(), [&](const Shape<4>& at) { zero = zero && t.get(at) == 0; });
  return zero;
}
bool all_finite(const GradientTensors& g) {
  bool finite = true;
  for (const Tensor* t : {&g.dq, &g.dk, &g.dv, &g.d_bias, &g.d_sink})
    each(t->shape(), [&](const Shape<4>& at) { finite = finite && std::isfinite(t->get(at)); });
  return finite;
}

Problem with_everything(const Sizes& sizes) {
  Problem p = plain_problem(sizes);
  p.options.mask = parse_mask("causal(30) & ~window(2)");
  p.options.softcap = 4.0F;
  p.options.dropout = {0.2F, 5};
  p.give_bias(8, true);
  p.give_sink(9);
  return p;
}

TEST(BackwardLaw, ZeroGradientOfTheOutputGivesZero) {
  const Problem p = with_everything({2, 4, 2, 50, 90, 16, 24});
  Tensor d_out({2, 4, 50, 24});
  d_out.fill_with(0);
  const GradientTensors g = differentiate(p, d_out);
  for (const Tensor* t : {&g.dq, &g.dk, &g.dv, &g.d_bias, &g.d_sink}) EXPECT_TRUE(all_zero(*t));
}

TEST(BackwardLongRows, OfAMaskThatAPlanDoesNotStoreAgreeWithTheTextbook) {
  Problem p = plain_problem({1, 2, 1, 30, 17'000, 8, 8});
  p.options.mask = parse_mask("sparse(3) & causal(16950)");
  const TilePlan plan(p.options.mask, {1, 2, 30, 17'000});
  ASSERT_EQ(plan.row(0, 0, 1).front().bits, TileSpan::kMixed);
  const Tensor d_out = random_d_out(p);
  EXPECT_TRUE(agree(textbook_gradients(p, d_out), differentiate(p, d_out, 2)));
}

TEST(BackwardLaw, TwiceTheGradientOfTheOutputGivesTwiceEachBit) {
  const Problem p = with_everything({2, 4, 2, 50, 90, 16, 24});
  const Tensor once = random_d_out(p);
  Tensor twice(once.shape());
  each(once.shape(), [&](const Shape<4>& at) { twice.set(at, 2 * once.get(at)); });
  const GradientTensors a = differentiate(p, once), b = differentiate(p, twice);
  for (const auto& [x, y] : {std::pair{&a.dq, &b.dq}, std::pair{&a.dk, &b.dk}, std::pair{&a.dv, &b.dv},
                             std::pair{&a.d_bias, &b.d_bias}, std::pair{&a.d_sink, &b.d_sink}})
    each(x->shape(), [&](const Shape<4>& at) { EXPECT_EQ(2 * x->get(at), y->get(at)); });
}

TEST(BackwardLaw, GradientsOfASumOfOutputsAddUp) {
  const Problem p = with_everything({1, 2, 1, 50, 90, 16, 24});
  const Tensor a = random_d_out(p, 1), b = random_d_out(p, 2);
  Tensor both(a.shape());
  each(a.shape(), [&](const Shape<4>& at) { both.set(at, a.get(at) + b.get(at)); });
  const GradientTensors ga = differentiate(p, a), gb = differentiate(p, b), g = differentiate(p, both);
  each(g.dq.shape(), [&](const Shape<4>& at) { EXPECT_NEAR(ga.dq.get(at) + gb.dq.get(at), g.dq.get(at), 2e-4); });
  each(g.dk.shape(), [&](const Shape<4>& at) { EXPECT_NEAR(ga.dk.get(at) + gb.dk.get(at), g.dk.get(at), 2e-4); });
}

// Weights of a row sum to 1, so equal values pass d_out through, and a common shift of the scores changes nothing.
TEST(BackwardLaw, ValueGradientsAddUpToThoseOfTheOutput) {
  Problem p = plain_problem({2, 4, 2, 100, 333, 16, 24});
  p.options.mask = Causal{};
  const Tensor d_out = random_d_out(p);
  EXPECT_NEAR(sum_of(differentiate(p, d_out).dv), sum_of(d_out), 0.02);
}

TEST(BackwardLaw, BiasGradientsAddUpToZeroAndWithASinkToTheRest) {
  Problem p = plain_problem({2, 4, 2, 100, 333, 16, 24});
  p.options.mask = Causal{9};
  p.give_bias(3, true);
  const Tensor d_out = random_d_out(p);
  EXPECT_NEAR(sum_of(differentiate(p, d_out).d_bias), 0, 0.005);
  p.give_sink(4);
  const GradientTensors g = differentiate(p, d_out);
  EXPECT_GT(std::abs(sum_of(g.d_sink)), 0.05);
  EXPECT_NEAR(sum_of(g.d_bias), -sum_of(g.d_sink), 0.005);
}

// Both <q, dq> and <k, dk> are the scale times the derivative by the scale.
TEST(BackwardLaw, QueriesAndKeysHaveTheSameShareInTheScores) {
  const Problem p = with_everything({2, 6, 2, 61, 130, 40, 8});
  const GradientTensors g = differentiate(p, random_d_out(p));
  EXPECT_GT(std::abs(product_of(p.q, g.dq)), 1);
  EXPECT_NEAR(product_of(p.q, g.dq), product_of(p.k, g.dk), 0.01);
}

TEST(BackwardLaw, SharedKeysGetTheSumOfWhatTheyWouldGetAlone) {
  const Problem shared = plain_problem({1, 3, 1, 40, 70, 16, 16});
  Problem own = plain_problem({1, 3, 3, 40, 70, 16, 16});
  each(own.k.shape(), [&](const Shape<4>& at) {
    own.k.set(at, shared.k.get({0, 0, at[2], at[3]}));
    own.v.set(at, shared.v.get({0, 0, at[2], at[3]}));
  });
  const Tensor d_out = random_d_out(shared);
  const GradientTensors a = differentiate(shared, d_out), b = differentiate(own, d_out);
  EXPECT_LE(distance(a.dq, b.dq), 1e-6);
  each(a.dk.shape(), [&](const Shape<4>& at) {
    double dk = 0, dv = 0;
    for (std::int64_t h = 0; h < 3; ++h) {
      dk += b.dk.get({0, h, at[2], at[3]});
      dv += b.dv.get({0, h, at[2], at[3]});
    }
    EXPECT_NEAR(a.dk.get(at), dk, 2e-5);
    EXPECT_NEAR(a.dv.get(at), dv, 2e-5);
  });
}

// ---- threads, layouts, memory ----

TEST(BackwardThreads, AnyNumberGivesTheSameBits) {
  for (const Sizes& sizes : {Sizes{2, 4, 2, 50, 90, 16, 24}, Sizes{1, 2, 1, 150, 3000, 16, 8},
                             Sizes{1, 1, 1, 700, 1700, 64, 64}, Sizes{3, 8, 8, 33, 33, 8, 8}}) {
    SCOPED_TRACE(sizes.text());
    for (const bool plain : {true, false}) {
      const Problem p = plain ? plain_problem(sizes) : with_everything(sizes);
      const Tensor d_out = random_d_out(p);
      const GradientTensors one = differentiate(p, d_out, 1);
      for (const int threads : {2, 3, 5}) EXPECT_TRUE(one.same_bits(differentiate(p, d_out, threads))) << threads;
    }
  }
}

TEST(BackwardThreads, SplitKeysAgreeWithTheTextbook) {
  Problem p = with_everything({1, 2, 1, 60, 3000, 16, 8});
  const Tensor d_out = random_d_out(p);
  EXPECT_TRUE(agree(textbook_gradients(p, d_out), differentiate(p, d_out, 3)));
}

TEST(BackwardLayout, AnyStridesGiveTheSameBitsAndGapsStayUntouched) {
  const Sizes s{2, 4, 2, 50, 90, 20, 24};
  const Problem dense = plain_problem(s);
  const Tensor d_out = random_d_out(dense);
  const GradientTensors want = differentiate(dense, d_out);
  ThreadPool pool(2);
  for (const Layout layout : {Layout::transposed, Layout::sliced, Layout::reversed}) {
    SCOPED_TRACE(name_of(layout));
    Problem p = plain_problem(s);
    p.q = Tensor({s.B, s.H, s.N, s.D}, Type::float32, layout);
    p.k = Tensor({s.B, s.G, s.M, s.D}, Type::float32, layout);
    p.v = Tensor({s.B, s.G, s.M, s.E}, Type::float32, layout);
    p.q.fill(1);
    p.k.fill(2);
    p.v.fill(3);
    Tensor strided(d_out.shape(), Type::float32, layout);
    each(d_out.shape(), [&](const Shape<4>& at) { strided.set(at, d_out.get(at)); });
    Results r(s, false, layout);
    attention(p.inputs(), p.options, r.out.floats(), r.lse_view(), pool);
    GradientTensors g(p, layout);
    const Results& read = r;
    attention_backward(p.inputs(), p.options, {read.out.floats(), read.lse_view(), strided.floats()}, g.to(), pool);
    EXPECT_EQ(distance(want.dq, g.dq), 0);
    EXPECT_EQ(distance(want.dk, g.dk), 0);
    EXPECT_EQ(distance(want.dv, g.dv), 0);
    EXPECT_EQ(g.dq.spoiled() + g.dk.spoiled() + g.dv.spoiled(), 0);
  }
}

TEST(BackwardPlan, ReusedPlanGivesTheSameBits) {
  Problem p = plain_problem({2, 2, 2, 50, 90, 16, 24});
  p.options.mask = parse_mask("window(20) & padding(90,41)");
  const Tensor d_out = random_d_out(p);
  const GradientTensors fresh = differentiate(p, d_out);
  const TilePlan plan(p.options.mask, p.sizes.extent());
  p.options.plan = &plan;
  EXPECT_TRUE(fresh.same_bits(differentiate(p, d_out)));
}

// The peak memory of this process since the last call of forget(), in kilobytes; -1 if the system does not report it.
std::int64_t peak_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6));
  return -1;
}
bool forget_peak() {
  std::ofstream file("/proc/self/clear_refs");
  return static_cast<bool>(file << "5" << std::flush);
}

TEST(BackwardMemory, GrowsWithTheLengthNotWithItsSquare) {
  const std::int64_t n = 12'000;  // a table of weights would take 576 MB
  const Problem p = plain_problem({1, 1, 1, n, n, 8, 8});
  const Tensor d_out = random_d_out(p);
  if (!forget_peak()) GTEST_SKIP() << "the system does not let its peak be forgotten";
  const std::int64_t before = peak_kilobytes();
  static_cast<void>(differentiate(p, d_out, 2));
  EXPECT_LE(peak_kilobytes() - before, 32 << 10);
}

// ---- NaN and infinities ----

TEST(BackwardExtremes, QueryThatSeesNothingHasNoGradientAndGivesNone) {
  Problem p = plain_problem({1, 2, 2, 50, 90, 16, 24});
  p.options.mask = Causal{-20};
  Tensor d_out = random_d_out(p);
  for (std::int64_t e = 0; e < 24; ++e) d_out.set({0, 1, 7, e}, kNan);  // for a query that sees no key
  on_every_target([&](const char* target) {
    SCOPED_TRACE(target);
    const GradientTensors g = differentiate(p, d_out);
    EXPECT_TRUE(all_finite(g));
    for (std::int64_t i = 0; i < 20; ++i)
      for (std::int64_t d = 0; d < 16; ++d) EXPECT_EQ(g.dq.get({0, 1, i, d}), 0);
    for (std::int64_t j = 30; j < 90; ++j)
      for (std::int64_t d = 0; d < 16; ++d) EXPECT_EQ(g.dk.get({0, 1, j, d}), 0);
  });
}

void expect_masked_keys_may_hold_anything(float softcap) {
  for (const float poison : {kNan, kInfinity, -kInfinity, 3e38F}) {
    SCOPED_TRACE(poison);
    Problem p = plain_problem({2, 2, 2, 50, 90, 16, 24});
    p.options.mask = Mask(Padding{{90, 41}}) & Causal{50};
    p.options.softcap = softcap;
    const Tensor d_out = random_d_out(p);
    const GradientTensors want = differentiate(p, d_out);
    for (std::int64_t j = 41; j < 90; ++j)
      for (std::int64_t d = 0; d < 16; ++d) {
        p.k.set({1, 1, j, d}, poison);
        p.v.set({1, 1, j, d}, poison);
      }
    on_every_target([&](const char* target) {
      SCOPED_TRACE(target);
      const GradientTensors g = differentiate(p, d_out);
      EXPECT_TRUE(all_finite(g));
      EXPECT_LE(distance(want.dq, g.dq), 1e-5);
      EXPECT_LE(distance(want.dk, g.dk), 1e-5);
      EXPECT_LE(distance(want.dv, g.dv), 1e-5);
    });
  }
}

TEST(BackwardExtremes, MaskedKeysAndValuesMayHoldAnything) { expect_masked_keys_may_hold_anything(0); }
TEST(BackwardExtremes, MaskedKeysAndValuesMayHoldAnythingUnderASoftcap) { expect_masked_keys_may_hold_anything(5); }

TEST(BackwardExtremes, NanInAGradientOfTheOutputReachesOnlyWhatItsQuerySees) {
  Problem p = plain_problem({1, 2, 2, 60, 90, 16, 24});
  p.options.mask = Causal{};
  Tensor d_out = random_d_out(p);
  for (const float poison : {kNan, kInfinity}) {
    d_out.set({0, 1, 30, 3}, poison);
    on_every_target([&](const char* target) {
      SCOPED_TRACE(target);
      const GradientTensors g = differentiate(p, d_out);
      each(g.dq.shape(), [&](const Shape<4>& at) {
        EXPECT_EQ(std::isnan(g.dq.get(at)), at[1] == 1 && at[2] == 30) << at[1] << "," << at[2];
      });
      for (const Tensor* t : {&g.dk, &g.dv})
        each(t->shape(), [&](const Shape<4>& at) {
          EXPECT_EQ(std::isnan(t->get(at)), at[1] == 1 && at[2] <= 30) << at[1] << "," << at[2];
        });
    });
  }
}

TEST(BackwardExtremes, NanInAQueryReachesOnlyWhatItSees) {
  Problem p = plain_problem({1, 1, 1, 60, 90, 16, 24});
  p.options.mask = Window{3};
  const Tensor d_out = random_d_out(p);
  p.q.set({0, 0, 30, 3}, kNan);
  on_every_target([&](const char* target) {
    SCOPED_TRACE(target);
    const GradientTensors g = differentiate(p, d_out);
    each(g.dq.shape(), [&](const Shape<4>& at) { EXPECT_EQ(std::isnan(g.dq.get(at)), at[2] == 30) << at[2]; });
    each(g.dv.shape(),
         [&](const Shape<4>& at) { EXPECT_EQ(std::isnan(g.dv.get(at)), at[2] >= 27 && at[2] <= 33) << at[2]; });
  });
}

TEST(BackwardExtremes, ScoresAndSinksOfMinusInfinityGiveNoNan) {
  Problem p = plain_problem({1, 2, 2, 50, 90, 16, 24});
  p.give_bias(3, false);
  for (std::size_t n = 0; n < p.bias.size(); ++n)
    if (n % 3 == 0 || n < 95) p.bias[n] = -kInfinity;  // the last rows see nothing else
  p.give_sink(3);
  p.sink = {-kInfinity, 1.0F};
  const Tensor d_out = random_d_out(p);
  const GradientTensors g = differentiate(p, d_out);
  EXPECT_TRUE(all_finite(g));
  EXPECT_EQ(g.d_sink.get({0, 0, 0, 0}), 0);
  EXPECT_TRUE(agree(textbook_gradients(p, d_out), g));
}

TEST(BackwardExtremes, NoQueriesOrNoKeysGiveZeros) {
  for (const Sizes& s : {Sizes{1, 2, 2, 0, 9, 8, 8}, Sizes{1, 2, 2, 9, 0, 8, 8}, Sizes{0, 2, 2, 9, 9, 8, 8}}) {
    SCOPED_TRACE(s.text());
    const Problem p = plain_problem(s);
    const GradientTensors g = differentiate(p, random_d_out(p), 2);
    for (const Tensor* t : {&g.dq, &g.dk, &g.dv}) EXPECT_TRUE(all_zero(*t));
  }
}

}  // namespace
}  // namespace attn::test
