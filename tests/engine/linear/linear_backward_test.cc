// tests/engine/linear/linear_backward_test.cc - gradients of linear attention against their quadratic form, differences
// and torch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "attn/backward.h"
#include "attn/linear.h"
#include "tests/engine/backward/backward_support.h"
#include "tests/support/problem.h"
#include "tests/support/random.h"
#include "tests/support/reference.h"
#include "tests/support/targets.h"

namespace attn::test {
namespace {

using testing::HasSubstr;

// phi and its derivative.
struct Phi {
  double value = 0, slope = 1;
};
Phi phi_of(Feature feature, double x) {
  if (feature == Feature::elu_plus_one) return x > 0 ? Phi{x + 1, 1} : Phi{std::exp(x), std::exp(x)};
  if (feature == Feature::relu) return x > 0 ? Phi{x, 1} : Phi{0, 0};
  return {x, 1};
}

// dq, dk and dv by sums over all pairs, in double precision.
TextbookGradients quadratic(const Problem& p, const LinearOptions& options, const Tensor& d_out) {
  const Sizes& s = p.sizes;
  const std::vector<double> out = linear_textbook(p.inputs(), options);
  const auto size = [](const Tensor& t) { return static_cast<std::size_t>(t.floats().size()); };
  TextbookGradients book{Sums(size(p.q)), Sums(size(p.k)), Sums(size(p.v)), Sums(0), Sums(0), Sums(0)};
  const auto index = [](const Shape<4>& shape, const Shape<4>& at) {
    return static_cast<std::size_t>(((at[0] * shape[1] + at[1]) * shape[2] + at[2]) * shape[3] + at[3]);
  };
  const auto phi_at = [&](const Tensor& t, const Shape<4>& at) { return phi_of(options.feature, t.get(at)); };
  each({s.B, s.H, s.N, 1}, [&](const Shape<4>& row) {
    const std::int64_t b = row[0], h = row[1], i = row[2], g = h / (s.H / s.G);
    const std::int64_t end = options.causal ? i + 1 : s.M;
    std::vector<double> weight(static_cast<std::size_t>(end));
    double divisor = options.epsilon, delta = 0, size_of_delta = 0;
    for (std::int64_t j = 0; j < end; ++j) {
      for (std::int64_t d = 0; d < s.D; ++d)
        weight[j] += phi_at(p.q, {b, h, i, d}).value * phi_at(p.k, {b, g, j, d}).value;
      divisor += weight[j];
    }
    if (divisor == 0) return;
    for (std::int64_t e = 0; e < s.E; ++e) {
      const double x = d_out.get({b, h, i, e}) * out[index(d_out.shape(), {b, h, i, e})];
      delta += x;
      size_of_delta += std::abs(x);
    }
    for (std::int64_t j = 0; j < end; ++j) {
      double pair = -delta, size_of_pair = size_of_delta;
      for (std::int64_t e = 0; e < s.E; ++e) {
        const double x = d_out.get({b, h, i, e}) * p.v.get({b, g, j, e});
        pair += x;
        size_of_pair += std::abs(x);
        const double y = weight[j] * d_out.get({b, h, i, e}) / divisor;
        book.dv.add(index(p.v.shape(), {b, g, j, e}), y, 1e-5 * std::abs(y));
      }
      for (std::int64_t d = 0; d < s.D; ++d) {
        const Phi q = phi_at(p.q, {b, h, i, d}), k = phi_at(p.k, {b, g, j, d});
        const double to_q = k.value * q.slope / divisor, to_k = q.value * k.slope / divisor;
        book.dq.add(index(p.q.shape(), {b, h, i, d}), pair * to_q, 1e-5 * size_of_pair * std::abs(to_q));
        book.dk.add(index(p.k.shape(), {b, g, j, d}), pair * to_k, 1e-5 * size_of_pair * std::abs(to_k));
      }
    }
  });
  return book;
}

// Positive inputs if features may be 0 or negative, so that no divisor is near 0.
Problem linear_problem(const Sizes& sizes, Feature feature, std::uint64_t seed = 1, Type type = Type::float32) {
  Problem p = plain_problem(sizes, seed, type);
  if (feature == Feature::elu_plus_one) return p;
  for (Tensor* t : {&p.q, &p.k}) {
    each(t->shape(), [&](const Shape<4>& at) {
      const float x = t->get(at);
      t->set(at, feature == Feature::identity ? std::abs(x) + 0.125F : x + (at[3] % 2 == 0 ? 4.125F : 0.0F));
    });
  }
  return p;
}

TEST(LinearBackward, AgreesWithTheQuadraticFormOnEveryTarget) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    Sizes s;
    s.B = random.between(1, 2);
    s.G = random.between(1, 2);
    s.H = s.G * random.between(1, 3);
    s.M = random.pick<std::int64_t>({1, 2, 13, 64, 95, 96, 97, 130, 200});
    s.D = random.pick<std::int64_t>({1, 3, 8, 16, 17, 32, 40});
    s.E = random.pick<std::int64_t>({1, 5, 8, 15, 16, 31, 33});
    LinearOptions options;
    options.causal = random.chance(0.6);
    s.N = options.causal ? s.M : random.pick<std::int64_t>({1, 5, 12, 70, 100});
    options.feature = random.pick({Feature::elu_plus_one, Feature::elu_plus_one, Feature::relu, Feature::identity});
    options.epsilon = random.pick<float>({0, 1e-6F, 0.5F});
    const Type type = random.pick({Type::float32, Type::float32, Type::float16, Type::bfloat16});
    SCOPED_TRACE(std::to_string(seed) + ": " + s.text() + (options.causal ? " causal" : ""));
    const Problem p = linear_problem(s, options.feature, 10 * seed, type);
    const Tensor d_out = random_d_out(p);
    const TextbookGradients book = quadratic(p, options, d_out);
    on_every_target([&](const char* target) {
      SCOPED_TRACE(target);
      EXPECT_TRUE(agree(book, differentiate_linear(p, options, d_out)));
    });
  }
}

TEST(LinearBackward, DifferencesAreTheGradient) {
  for (const Feature feature : {Feature::elu_plus_one, Feature::relu, Feature::identity}) {
    for (const bool causal : {false, true}) {
      SCOPED_TRACE(static_cast<int>(feature) * 2 + static_cast<int>(causal));
      Problem p = linear_problem({1, 4, 2, causal ? 30 : 21, 30, 7, 5}, feature);
      LinearOptions options;
      options.feature = feature;
      options.causal = causal;
      const Tensor d_out = random_d_out(p);
      const auto loss = [&] {
        const std::vector<double> out = linear_textbook(p.inputs(), options);
        double sum = 0;
        std::size_t n = 0;
        each(d_out.shape(), [&](const Shape<4>& at) { sum += d_out.get(at) * out[n++]; });
        return sum;
      };
      const GradientTensors g = differentiate_linear(p, options, d_out);
      for (const auto& [x, gradient] : {std::pair{&p.q, &g.dq}, std::pair{&p.k, &g.dk}, std::pair{&p.v, &g.dv}}) {
        for (std::uint64_t n = 0; n < 6; ++n) {
          const auto& shape = x->shape();
          const auto pick = [&](std::size_t axis) {
            return static_cast<std::int64_t>(hash(10 * n + axis) % static_cast<std::uint64_t>(shape[axis]));
          };
          const Shape<4> at{pick(0), pick(1), pick(2), pick(3)};
          const float before = x->get(at);
          constexpr float kStep = 1.0F / 256;
          if (feature != Feature::identity && std::abs(before) < 2 * kStep) continue;  // near the kink of phi
          const auto moved = [&](float by) {
            x->set(at, before + by);
            return loss();
          };
          const double slope =
              (8 * (moved(kStep) - moved(-kStep)) - (moved(2 * kStep) - moved(-2 * kStep))) / 12 / kStep;
          x->set(at, before);
          EXPECT_NEAR(gradient->get(at), slope, 1e-5 * (1 + std::abs(slope)));
        }
      }
    }
  }
}

TEST(LinearBackward, AnyNumberOfThreadsGivesTheSameBits) {
  const Problem p = plain_problem({3, 4, 2, 300, 300, 24, 16});
  const Tensor d_out = random_d_out(p);
  for (const bool causal : {false, true}) {
    LinearOptions options;
    options.causal = causal;
    const GradientTensors one = differentiate_linear(p, options, d_out);
    for (const int threads : {2, 3, 5}) EXPECT_TRUE(one.same_bits(differentiate_linear(p, options, d_out, threads)));
  }
}

TEST(LinearBackward, ZeroGivesZeroAndRowsWithoutADivisorGetNone) {
  Problem p = plain_problem({1, 2, 2, 40, 40, 8, 8});
  p.k.fill_with(-1);  // relu of it is 0, so every divisor is 0
  LinearOptions options;
  options.feature = Feature::relu;
  options.epsilon = 0;
  const GradientTensors g = differentiate_linear(p, options, random_d_out(p));
  for (const Tensor* t : {&g.dq, &g.dk, &g.dv}) each(t->shape(), [&](const Shape<4>& at) { EXPECT_EQ(t->get(at), 0); });
}

TEST(LinearBackward, CausalGradientOfAKeyIgnoresEarlierQueries) {
  const Problem p = plain_problem({1, 1, 1, 150, 150, 16, 8});
  LinearOptions options;
  options.causal = true;
  Tensor d_out = random_d_out(p);
  const GradientTensors before = differentiate_linear(p, options, d_out);
  for (std::int64_t i = 0; i < 110; ++i)
    for (std::int64_t e = 0; e < 8; ++e) d_out.set({0, 0, i, e}, 0.5F);
  const GradientTensors after = differentiate_linear(p, options, d_out);
  for (std::int64_t j = 110; j < 150; ++j)
    for (std::int64_t d = 0; d < 8; ++d) {
      EXPECT_EQ(before.dk.get({0, 0, j, d}), after.dk.get({0, 0, j, d}));
      EXPECT_EQ(before.dv.get({0, 0, j, d}), after.dv.get({0, 0, j, d}));
    }
  EXPECT_NE(before.dk.get({0, 0, 109, 0}), after.dk.get({0, 0, 109, 0}));
}

TEST(LinearBackward, GapsBetweenRowsStayUntouchedAndEmptySizesGiveZeros) {
  const Problem p = plain_problem({2, 4, 2, 50, 90, 20, 24});
  const Tensor d_out = random_d_out(p);
  const GradientTensors dense = differentiate_linear(p, {}, d_out);
  for (const Layout layout : {Layout::transposed, Layout::sliced, Layout::reversed}) {
    const GradientTensors g = differentiate_linear(p, {}, d_out, 2, layout);
    EXPECT_EQ(distance(dense.dq, g.dq) + distance(dense.dk, g.dk) + distance(dense.dv, g.dv), 0);
    EXPECT_EQ(g.dq.spoiled() + g.dk.spoiled() + g.dv.spoiled(), 0);
  }
  for (const Sizes& s : {Sizes{1, 2, 2, 0, 9, 8, 8}, Sizes{1, 2, 2, 9, 0, 8, 8}}) {
    const Problem empty = plain_problem(s);
    const GradientTensors g = differentiate_linear(empty, {}, random_d_out(empty));
    for (const Tensor* t : {&g.dq, &g.dk, &g.dv})
      each(t->shape(), [&](const Shape<4>& at) { EXPECT_EQ(t->get(at), 0); });
  }
}

TEST(LinearBackward, WhatDoesNotFitOrHasNoGradientIsRefusedBeforeAnythingIsWritten) {
  const Problem p = plain_problem({1, 2, 2, 20, 30, 8, 6});
  const Tensor d_out = random_d_out(p), out(d_out.shape());
  GradientTensors g(p);
  ThreadPool pool(1);
  const auto refusal = [&](const LinearOptions& options, const Outputs& outputs, const Gradients& to) -> std::string {
    try {
      linear_backward(p.inputs(), options, outputs, to, pool);
    } catch (const std::invalid_argument& error) {
      EXPECT_TRUE(g.untouched());
      return error.what();
    }
    ADD_FAILURE() << "threw nothing";
    return "";
  };
  const Outputs outputs{out.floats(), {}, d_out.floats()};
  LinearOptions causal;
  causal.causal = true;
  EXPECT_THAT(refusal(causal, outputs, g.to()), testing::AllOf(HasSubstr("20"), HasSubstr("30")));
  const FeatureMap map{[](const float*, float* y) { *y = 1; }, 1};
  LinearOptions mapped;
  mapped.map = &map;
  EXPECT_THAT(refusal(mapped, outputs, g.to()), HasSubstr("feature map"));
  float numbers[2 * 8 * 6] = {};
  LinearOptions with_state;
  with_state.state = {{numbers, {1, 2, 8, 6}}, {numbers, {1, 2, 8}}};
  EXPECT_THAT(refusal(with_state, outputs, g.to()), HasSubstr("state"));
  LinearOptions negative;
  negative.epsilon = -1;
  EXPECT_THAT(refusal(negative, outputs, g.to()), HasSubstr("epsilon"));
  Outputs short_output = outputs;
  short_output.d_out.shape[2] = 19;
  EXPECT_THAT(refusal({}, short_output, g.to()), testing::AllOf(HasSubstr("19"), HasSubstr("20")));
  Gradients narrow = g.to();
  narrow.dv.shape[3] = 5;
  EXPECT_THAT(refusal({}, outputs, narrow), testing::AllOf(HasSubstr("dv"), HasSubstr("5"), HasSubstr("6")));
  Gradients sunk = g.to();
  sunk.d_sink = {numbers, {2}};
  EXPECT_THAT(refusal({}, outputs, sunk), HasSubstr("sink"));
}

}  // namespace
}  // namespace attn::test
