// tests/engine/backward/backward_test.cc - attention_backward() against the textbook, and the textbook's gradients
// against finite differences.
#include "attn/backward.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/engine/backward/backward_support.h"
#include "tests/support/problem.h"
#include "tests/support/random.h"
#include "tests/support/reference.h"
#include "tests/support/targets.h"

namespace attn::test {
namespace {

void expect_textbook(const Problem& p) {
  const Tensor d_out = random_d_out(p);
  const TextbookGradients book = textbook_gradients(p, d_out);
  on_every_target([&](const char* target) {
    SCOPED_TRACE(target);
    EXPECT_TRUE(agree(book, differentiate(p, d_out)));
  });
}

TEST(Backward, PlainAttentionOfManyShapesAgreesWithTheTextbook) {
  for (const Sizes& s :
       {Sizes{1, 1, 1, 1, 1, 1, 1}, Sizes{1, 2, 2, 12, 64, 16, 16}, Sizes{2, 2, 2, 13, 65, 8, 24},
        Sizes{1, 1, 1, 130, 450, 17, 40}, Sizes{1, 4, 2, 61, 33, 64, 64}, Sizes{2, 3, 1, 49, 97, 33, 7},
        Sizes{1, 1, 1, 100, 1000, 3, 5}, Sizes{1, 1, 1, 30, 70, 512, 100}, Sizes{1, 2, 1, 5, 2000, 16, 16}}) {
    SCOPED_TRACE(s.text());
    expect_textbook(plain_problem(s));
  }
}

TEST(Backward, EveryOptionAtRandomAgreesWithTheTextbook) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Problem p = random_problem(seed);
    SCOPED_TRACE(std::to_string(seed) + ": " + p.text);
    expect_textbook(p);
    if (HasFailure()) return;
  }
}

// ---- finite differences ----

// sum d_out out, in double precision.
double loss(const Problem& p, const Tensor& d_out) {
  const Textbook book = textbook(p.inputs(), p.options);
  double sum = 0;
  std::size_t n = 0;
  each(d_out.shape(), [&](const Shape<4>& at) { sum += d_out.get(at) * book.out[n++]; });
  return sum;
}

// The derivative of the loss by t, where move(t) shifts some input by t, from five points. Inputs are multiples of
// 2^-15 between -4 and 4, and so are the steps: nothing is rounded.
double slope(const std::function<double()>& loss, const std::function<void(float)>& move) {
  constexpr float kStep = 1.0F / 128;
  const auto at = [&](float t) {
    move(t);
    return loss();
  };
  const double near = at(kStep) - at(-kStep), far = at(2 * kStep) - at(-2 * kStep);
  move(0);
  return (8 * near - far) / (12.0 * kStep);
}

// Along a direction of signs, and along some axes.
void expect_differences(Tensor& x, const Tensor& gradient,
                        const std::function<double(const std::function<void(float)>&)>& slope_of) {
  Tensor before(x.shape());
  double size = 0;
  each(x.shape(), [&](const Shape<4>& at) {
    before.set(at, x.get(at));
    size += std::abs(gradient.get(at));
  });
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    std::int64_t count = 0;
    const auto sign = [&](std::int64_t n) {
      if (seed <= 3) return hash(seed * 1000003 + static_cast<std::uint64_t>(n)) % 2 == 0 ? 1.0F : -1.0F;
      return n == static_cast<std::int64_t>(hash(seed) % static_cast<std::uint64_t>(x.floats().size())) ? 1.0F : 0.0F;
    };
    double want = 0;
    each(x.shape(), [&](const Shape<4>& at) { want += sign(count++) * gradient.get(at); });
    const double got = slope_of([&](float t) {
      std::int64_t n = 0;
      each(x.shape(), [&](const Shape<4>& at) { x.set(at, before.get(at) + t * sign(n++)); });
    });
    EXPECT_NEAR(want, got, 1e-5 * size + 1e-6) << (seed <= 3 ? "direction " : "axis ") << seed;
  }
}

void expect_differences(Problem& p) {
  const Tensor d_out = random_d_out(p);
  const GradientTensors g = differentiate(p, d_out);
  const auto slope_of = [&](const std::function<void(float)>& move) {
    return slope([&] { return loss(p, d_out); }, move);
  };
  const auto as_tensor = [&](std::vector<float>& x, const Tensor& gradient) {
    Tensor t(gradient.shape());
    std::size_t n = 0;
    each(t.shape(), [&](const Shape<4>& at) { t.set(at, x[n++]); });
    expect_differences(t, gradient, [&](const std::function<void(float)>& move) {
      return slope_of([&](float step) {
        move(step);
        std::size_t m = 0;
        each(t.shape(), [&](const Shape<4>& at) { x[m++] = t.get(at); });
      });
    });
  };
  {
    SCOPED_TRACE("dq");
    expect_differences(p.q, g.dq, slope_of);
  }
  {
    SCOPED_TRACE("dk");
    expect_differences(p.k, g.dk, slope_of);
  }
  {
    SCOPED_TRACE("dv");
    expect_differences(p.v, g.dv, slope_of);
  }
  if (!p.bias.empty()) {
    SCOPED_TRACE("d_bias");
    as_tensor(p.bias, g.d_bias);
  }
  if (!p.sink.empty()) {
    SCOPED_TRACE("d_sink");
    as_tensor(p.sink, g.d_sink);
  }
  if (!p.dense_bias.empty()) {
    SCOPED_TRACE("d_dense_bias");
    as_tensor(p.dense_bias, g.d_dense_bias);
  }
}

constexpr Sizes kDifferenceSizes{2, 4, 2, 27, 70, 9, 5};

class MaskDifferences : public testing::TestWithParam<const char*> {};

TEST_P(MaskDifferences, AreTheGradient) {
  Problem p = plain_problem(kDifferenceSizes);
  p.options.mask = parse_mask(GetParam());
  expect_differences(p);
}
INSTANTIATE_TEST_SUITE_P(Every, MaskDifferences,
                         testing::Values("everything", "causal", "causal(43)", "causal(-5)", "window(4)", "window(9,2)",
                                         "sparse(5)", "global(3) | window(2)", "block(8)", "padding(70,31)",
                                         "prefix(4) | causal", "~causal(6)", "padding(0,5)"));

TEST(Differences, OfTablesDocumentsAndAdditiveMasksAreTheGradient) {
  Problem p = plain_problem(kDifferenceSizes);
  std::vector<std::uint8_t> bits(2 * 4 * 27 * 70);
  for (std::size_t n = 0; n < bits.size(); ++n) bits[n] = hash(n) % 3 == 0 ? 1 : 0;
  p.options.mask = table(View<const std::uint8_t, 4>(bits.data(), {2, 4, 27, 70}));
  expect_differences(p);
  std::vector<float> values(27 * 70);
  for (std::size_t n = 0; n < values.size(); ++n)
    values[n] = hash(n) % 3 == 0 ? -std::numeric_limits<float>::infinity() : bell(3, n);
  p.options.mask = additive(View<const float, 4>(values.data(), {1, 1, 27, 70}));
  expect_differences(p);
  Problem square = plain_problem({1, 2, 2, 40, 40, 9, 5});
  std::vector<std::int64_t> ids(40);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i / 13);
  square.options.mask = Document{ids};
  expect_differences(square);
}

TEST(Differences, OfScaleSoftcapAndDenseBiasAreTheGradient) {
  Problem p = plain_problem(kDifferenceSizes);
  p.options.scale = 0.7F;
  expect_differences(p);
  p.options.softcap = 1.5F;
  expect_differences(p);
  p.options.mask = Causal{};
  p.give_dense_bias(9, {1, 4, 27, 70});
  expect_differences(p);
}

TEST(Differences, OfABiasByDistanceAreTheGradient) {
  for (const bool per_head : {false, true}) {
    Problem p = plain_problem(kDifferenceSizes);
    p.give_bias(5, per_head);
    expect_differences(p);
    p.options.softcap = 2.0F;
    p.options.mask = Causal{20};
    expect_differences(p);
  }
}

TEST(Differences, OfASinkAreTheGradientAlsoForRowsThatSeeNothing) {
  Problem p = plain_problem(kDifferenceSizes);
  p.give_sink(5);
  expect_differences(p);
  p.options.mask = Causal{-4};
  expect_differences(p);
}

TEST(Differences, WithDropoutAreTheGradient) {
  Problem p = plain_problem(kDifferenceSizes);
  p.options.dropout = {0.3F, 11};
  expect_differences(p);
  p.options.mask = Causal{30};
  p.give_bias(5, true);
  p.give_sink(6);
  p.options.softcap = 3.0F;
  expect_differences(p);
}

TEST(Differences, OfOutputsAndLogSumsTogetherAreTheGradient) {
  Problem p = plain_problem(kDifferenceSizes);
  p.options.mask = Causal{-4};
  p.options.softcap = 3.0F;
  p.options.dropout = {0.3F, 11};
  p.give_sink(6);  // so that rows that see no key have an lse, too
  const Tensor d_out = random_d_out(p, 1);
  Results r = run(p);
  Tensor d_lse(r.lse.shape());
  std::uint64_t n = 0;
  each(d_lse.shape(), [&](const Shape<4>& at) { d_lse.set(at, bell(2, n++)); });
  const View<float, 4> rows = d_lse.floats();
  GradientTensors g(p);
  ThreadPool pool(1);
  attention_backward(p.inputs(), p.options,
                     {r.out.floats(), r.lse_view(), d_out.floats(),
                      View<const float, 3>(rows.data, {rows.shape[1], rows.shape[2], rows.shape[3]})},
                     g.to(), pool);
  const auto slope_of = [&](const std::function<void(float)>& move) {
    const auto both = [&] {
      const Textbook book = textbook(p.inputs(), p.options);
      double sum = loss(p, d_out);
      std::size_t row = 0;
      each(d_lse.shape(), [&](const Shape<4>& at) { sum += d_lse.get(at) * book.lse[row++]; });
      return sum;
    };
    return slope(both, move);
  };
  expect_differences(p.q, g.dq, slope_of);
  expect_differences(p.k, g.dk, slope_of);
  expect_differences(p.v, g.dv, slope_of);
}

TEST(Backward, OfHalfAndBfloatEqualsThatOfTheirValues) {
  for (const Type type : {Type::float16, Type::bfloat16}) {
    const Problem p = plain_problem({1, 4, 2, 50, 70, 24, 16}, 3, type);
    expect_textbook(p);
  }
}

}  // namespace
}  // namespace attn::test
