// tests/engine/linear/linear_test.cc - linear_attention() against its quadratic form, torch, and itself in chunks.
#include "attn/linear.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/golden.h"
#include "tests/support/problem.h"
#include "tests/support/reference.h"
#include "tests/support/targets.h"

namespace attn::test {
namespace {

Tensor run_linear(const Inputs& in, const LinearOptions& options, int threads = 1, Layout layout = Layout::dense) {
  Tensor out({in.q.shape[0], in.q.shape[1], in.q.shape[2], in.v.shape[3]}, Type::float32, layout);
  ThreadPool pool(threads);
  linear_attention(in, options, out.floats(), pool);
  EXPECT_EQ(out.spoiled(), 0);
  return out;
}

// A quotient of sums of positive terms: the error is relative to the largest |v|.
void expect_close(const Tensor& got, const std::vector<double>& want, double tolerance) {
  std::size_t n = 0;
  double most = 0;
  each(got.shape(), [&](const Shape<4>& at) {
    const double d = std::abs(got.get(at) - want[n++]);
    most = std::isnan(d) ? std::numeric_limits<double>::infinity() : std::max(most, d);
  });
  EXPECT_LE(most, tolerance);
}

FeatureMap squares_and_one(std::int64_t width) {
  return {[width](const float* x, float* phi) {
            for (std::int64_t d = 0; d < width; ++d) phi[d] = x[d] * x[d];
            phi[width] = 1;
          },
          width + 1};
}

struct LinearCase {
  Problem p;
  LinearOptions options;
  FeatureMap map;
};

LinearCase random_case(std::uint64_t seed) {
  Random random(seed);
  LinearCase c;
  Sizes s;
  s.B = random.between(1, 2);
  s.G = random.between(1, 2);
  s.H = s.G * random.between(1, 3);
  s.M = random.pick<std::int64_t>({1, 2, 13, 63, 64, 65, 100, 128, 129, 200});
  s.D = random.pick<std::int64_t>({1, 3, 8, 16, 17, 32, 64, 80});
  s.E = random.pick<std::int64_t>({1, 5, 8, 16, 33, 64, 72});
  c.options.causal = random.chance(0.5);
  s.N = c.options.causal ? s.M : random.pick<std::int64_t>({1, 5, 12, 64, 70});
  const Type type = random.pick({Type::float32, Type::float32, Type::float16, Type::bfloat16});
  const auto make = [&](const Shape<4>& shape) {
    Tensor t(shape, type,
             random.pick({Layout::dense, Layout::transposed, Layout::sliced, Layout::reversed, Layout::shared}));
    t.fill(random.bits() >> 40);
    return t;
  };
  c.p.sizes = s;
  c.p.q = make({s.B, s.H, s.N, s.D});
  c.p.k = make({s.B, s.G, s.M, s.D});
  c.p.v = make({s.B, s.G, s.M, s.E});
  c.options.feature = random.pick({Feature::elu_plus_one, Feature::elu_plus_one, Feature::relu, Feature::identity});
  if (c.options.feature != Feature::elu_plus_one) {
    // Keeps the denominator away from 0: with random signs the quotient has no error bound.
    for (Tensor* t : {&c.p.q, &c.p.k})
      each(t->shape(), [&](const Shape<4>& at) { t->set(at, std::abs(t->get(at)) + (at[3] == 0 ? 0.5F : 0.0F)); });
  }
  c.p.text = "seed " + std::to_string(seed) + " " + s.text() + (c.options.causal ? " causal " : " ") + name_of(type) +
             " feature " + std::to_string(static_cast<int>(c.options.feature));
  if (random.chance(0.25)) c.map = squares_and_one(s.D);
  return c;
}

class RandomLinear : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomLinear, AgreesWithTheQuadraticFormOnEveryTarget) {
  for (std::uint64_t seed = 10 * GetParam(); seed < 10 * (GetParam() + 1); ++seed) {
    LinearCase c = random_case(seed);
    if (c.map.width > 0) c.options.map = &c.map;
    SCOPED_TRACE(c.p.text + (c.options.map != nullptr ? " mapped" : ""));
    const std::vector<double> book = linear_textbook(c.p.inputs(), c.options);
    on_every_target([&](const char* target) {
      SCOPED_TRACE(target);
      const Layout layout = seed % 2 == 0 ? Layout::dense : Layout::sliced;
      expect_close(run_linear(c.p.inputs(), c.options, 1 + static_cast<int>(seed % 3), layout), book, 4e-5);
    });
  }
}
INSTANTIATE_TEST_SUITE_P(Batch, RandomLinear, testing::Range(std::uint64_t{0}, std::uint64_t{12}));

TEST(LinearGolden, AgreesWithTorch) {
  int seen = 0;
  for (const GoldenCase& c : read_golden(ATTNSCOPE_GOLDEN "/attention.golden")) {
    if (c.text("kind") != "linear") continue;
    SCOPED_TRACE(c.name);
    const Sizes s{c.whole("B"), c.whole("H"), c.whole("G"), c.whole("N"), c.whole("M"), c.whole("D"), c.whole("E")};
    const Problem p = plain_problem(s, c.stream(1));
    LinearOptions options;
    options.feature = c.text("feature") == "relu" ? Feature::relu : Feature::elu_plus_one;
    options.causal = c.whole("causal") != 0;
    expect_close(run_linear(p.inputs(), options), {c.out.begin(), c.out.end()}, 2e-5);
    ++seen;
  }
  EXPECT_EQ(seen, 3);
}

struct State {
  explicit State(const Sizes& s) : sum({s.B, s.G, s.D, s.E}), z({1, s.B, s.G, s.D}) {
    sum.fill_with(0);
    z.fill_with(0);
  }
  LinearState view() { return {sum.floats(), {z.floats().data, {z.shape()[1], z.shape()[2], z.shape()[3]}}}; }

  Tensor sum, z;
};

TEST(LinearStreaming, ChunksWithAStateEqualOnePass) {
  const Sizes s{2, 4, 2, 210, 210, 24, 40};
  const Problem p = plain_problem(s);
  LinearOptions options;
  options.causal = true;
  const Tensor whole = run_linear(p.inputs(), options);
  State state(s), at_once(s);
  std::int64_t first = 0;
  for (const std::int64_t n : {1, 63, 64, 2, 70, 10}) {
    const Inputs in = p.inputs();
    options.state = state.view();
    const Tensor chunk =
        run_linear({part(in.q, 2, first, n), part(in.k, 2, first, n), part(in.v, 2, first, n)}, options, 2);
    each(chunk.shape(), [&](const Shape<4>& at) {
      ASSERT_NEAR(chunk.get(at), whole.get({at[0], at[1], first + at[2], at[3]}), 2e-5) << first;
    });
    first += n;
  }
  ASSERT_EQ(first, 210);
  options.state = at_once.view();
  run_linear(p.inputs(), options);
  EXPECT_LE(distance(state.sum, at_once.sum), 1e-3);  // sums of 210 terms of up to 20
  EXPECT_LE(distance(state.z, at_once.z), 1e-3);
}

TEST(LinearStreaming, StateHoldsTheSumsOverTheKeys) {
  const Sizes s{1, 2, 1, 5, 100, 8, 16};
  const Problem p = plain_problem(s);
  for (const bool twice : {false, true}) {
    State state(s);
    LinearOptions options;
    options.state = state.view();
    run_linear(p.inputs(), options);
    if (twice) run_linear(p.inputs(), options);
    for (std::int64_t f = 0; f < 8; ++f) {
      double z = 0, sum = 0;
      for (std::int64_t j = 0; j < 100; ++j) {
        const double x = p.k.get({0, 0, j, f});
        const double phi = x > 0 ? x + 1 : std::exp(x);
        z += phi;
        sum += phi * p.v.get({0, 0, j, 11});
      }
      EXPECT_NEAR(state.z.get({0, 0, 0, f}), (twice ? 2 : 1) * z, 1e-4 * z);
      EXPECT_NEAR(state.sum.get({0, 0, f, 11}), (twice ? 2 : 1) * sum, 1e-4 * z);
    }
  }
}

TEST(LinearLaw, SameBitsForAnyNumberOfThreads) {
  for (std::uint64_t seed = 500; seed < 530; ++seed) {
    LinearCase c = random_case(seed);
    if (c.map.width > 0) c.options.map = &c.map;
    SCOPED_TRACE(c.p.text);
    const Tensor one = run_linear(c.p.inputs(), c.options, 1);
    for (const int threads : {2, 3, 5}) EXPECT_TRUE(same_bits(one, run_linear(c.p.inputs(), c.options, threads)));
  }
}

TEST(LinearLaw, CausalRowIgnoresWhatComesLater) {
  Problem p = plain_problem({1, 2, 1, 150, 150, 16, 16});
  LinearOptions options;
  options.causal = true;
  const Tensor before = run_linear(p.inputs(), options);
  for (std::int64_t j = 100; j < 150; ++j) p.v.set({0, 0, j, 3}, std::numeric_limits<float>::quiet_NaN());
  const Tensor after = run_linear(p.inputs(), options);
  each(before.shape(), [&](const Shape<4>& at) {
    if (at[2] < 100) {
      ASSERT_NEAR(before.get(at), after.get(at), 1e-6) << at[2];
    } else {
      ASSERT_EQ(std::isnan(after.get(at)), at[3] == 3) << at[2];
    }
  });
}

TEST(LinearLaw, EmptySizesGiveEmptyOrZeroResults) {
  EXPECT_NO_THROW(run_linear(plain_problem({1, 2, 1, 0, 5, 8, 8}).inputs(), {}));
  EXPECT_NO_THROW(run_linear(plain_problem({0, 2, 1, 3, 5, 8, 8}).inputs(), {}));
  const Problem p = plain_problem({1, 2, 1, 3, 0, 8, 8});
  const Tensor out = run_linear(p.inputs(), {});
  each(out.shape(), [&](const Shape<4>& at) { EXPECT_EQ(out.get(at), 0); });
}

void expect_refused(const Inputs& in, const LinearOptions& options, const Shape<4>& shape, const std::string& number) {
  Tensor out(shape);
  const Tensor fresh(shape);
  ThreadPool pool(1);
  try {
    linear_attention(in, options, out.floats(), pool);
    ADD_FAILURE() << "threw nothing; expected a message with " << number;
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(number));
  }
  EXPECT_TRUE(same_bits(out, fresh));
}

TEST(LinearBadInput, IsRefusedBeforeAnythingIsWritten) {
  const Problem p = plain_problem({2, 4, 2, 5, 7, 16, 24});
  const Inputs good = p.inputs();
  const Shape<4> right{2, 4, 5, 24};
  const auto spoiled = [&](AnyView<4> Inputs::* which, std::size_t axis, std::int64_t value) {
    Inputs in = good;
    (in.*which).shape[axis] = value;
    return in;
  };
  expect_refused(spoiled(&Inputs::q, 3, 15), {}, right, "15");
  expect_refused(spoiled(&Inputs::k, 2, 6), {}, right, "6");
  expect_refused(spoiled(&Inputs::v, 0, 1), {}, right, "1");
  expect_refused(spoiled(&Inputs::q, 1, 3), {}, {2, 3, 5, 24}, "3");
  expect_refused(good, {}, {2, 4, 5, 23}, "23");
  expect_refused(good, {}, {2, 4, 4, 24}, "4");
  LinearOptions causal;
  causal.causal = true;
  expect_refused(good, causal, right, "7");
  Inputs sparse = spoiled(&Inputs::q, 3, 8);
  sparse.k.shape[3] = 8;
  sparse.q.strides[3] = 2;
  expect_refused(sparse, {}, right, "2");
  Sizes other = p.sizes;
  other.D = 15;
  State state(other);
  LinearOptions with_state;
  with_state.state = state.view();
  expect_refused(good, with_state, right, "15");
  LinearOptions bad_epsilon;
  bad_epsilon.epsilon = -1;
  expect_refused(good, bad_epsilon, right, "-1");
  const FeatureMap no_map{{}, 8}, no_width{[](const float*, float*) {}, 0};
  LinearOptions mapped;
  mapped.map = &no_map;
  expect_refused(good, mapped, right, "map");
  mapped.map = &no_width;
  expect_refused(good, mapped, right, "0");
}

}  // namespace
}  // namespace attn::test
