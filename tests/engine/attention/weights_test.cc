// tests/engine/attention/weights_test.cc - the table of weights: written whole, and rectangles rebuilt from q, k, lse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "attn/attention.h"
#include "tests/support/problem.h"
#include "tests/support/reference.h"
#include "tests/support/targets.h"

namespace attn::test {
namespace {

Tensor rebuild(const Problem& p, const Results& r, Rectangle window, const Shape<2>& size) {
  Tensor part({p.sizes.B, p.sizes.H, size[0], size[1]});
  ThreadPool pool(2);
  weights(p.inputs(), p.options, r.lse_view(), window, part.floats(), pool);
  return part;
}

TEST(Weights, RowsSumToOneForEveryProblem) {
  for (std::uint64_t seed = 20000; seed < 20060; ++seed) {
    Problem p = random_problem(seed);
    p.options.sink = {};
    SCOPED_TRACE(p.text);
    const Results r = run(p, 1, true);
    each({p.sizes.B, p.sizes.H, p.sizes.N, 1}, [&](const Shape<4>& at) {
      double sum = 0;
      for (std::int64_t j = 0; j < p.sizes.M; ++j) sum += r.weights.get({at[0], at[1], at[2], j});
      const bool blind = std::isinf(r.lse.get({0, at[0], at[1], at[2]}));
      ASSERT_NEAR(sum, blind ? 0 : 1, 1e-5) << at[0] << "," << at[1] << "," << at[2];
    });
  }
}

TEST(Weights, WritingThemDoesNotChangeTheResult) {
  for (std::uint64_t seed = 21000; seed < 21060; ++seed) {
    const Problem p = random_problem(seed);
    SCOPED_TRACE(p.text);
    const Results with = run(p, 1, true), without = run(p);
    double size = 1, longest = 1;
    each(p.v.shape(), [&](const Shape<4>& at) { size = std::max(size, std::abs(static_cast<double>(p.v.get(at)))); });
    each(with.lse.shape(), [&](const Shape<4>& at) {
      const double lse = std::abs(static_cast<double>(with.lse.get(at)));
      if (std::isfinite(lse)) longest = std::max(longest, lse);
    });
    EXPECT_LE(distance(with.out, without.out), 1e-6 * size * longest / (1 - p.options.dropout.rate));
    EXPECT_LE(distance(with.lse, without.lse), 1e-6 * longest);
  }
}

TEST(Weights, AnyRectangleEqualsThatPartOfTheTable) {
  for (std::uint64_t seed = 22000; seed < 22080; ++seed) {
    const Problem p = random_problem(seed);
    SCOPED_TRACE(p.text);
    const Textbook book = textbook(p.inputs(), p.options);
    on_every_target([&](const char* target) {
      SCOPED_TRACE(target);
      Random random(seed);
      const Results r = run(p, 1, true);
      for (int n = 0; n < 3; ++n) {
        const Rectangle window{random.below(p.sizes.N), random.below(p.sizes.M)};
        const Shape<2> size{random.between(1, p.sizes.N - window.row), random.between(1, p.sizes.M - window.col)};
        const Tensor part = rebuild(p, r, window, size);
        EXPECT_TRUE(weights_agree(book, part.floats(), window)) << window.row << " " << window.col;
        double most = 0, doubt = 0;
        for (const double d : book.doubt) doubt = std::max(doubt, d);
        each(part.shape(), [&](const Shape<4>& at) {
          const float whole = r.weights.get({at[0], at[1], at[2] + window.row, at[3] + window.col});
          most = std::max(most, std::abs(static_cast<double>(part.get(at)) - whole));
        });
        EXPECT_LE(most, 1e-6 + doubt);
      }
    });
  }
}

TEST(Weights, SingleCellsEqualTheTable) {
  Problem p = plain_problem({2, 4, 2, 70, 131, 40, 16});
  p.options.mask = Causal{30} & Window{50};
  const Results r = run(p, 1, true);
  for (const Rectangle& cell : {Rectangle{0, 0}, {69, 130}, {40, 64}, {12, 63}, {11, 31}}) {
    const Tensor one = rebuild(p, r, cell, {1, 1});
    each(one.shape(), [&](const Shape<4>& at) {
      EXPECT_NEAR(one.get(at), r.weights.get({at[0], at[1], cell.row, cell.col}), 1e-6);
    });
  }
}

TEST(Weights, ValuesAreNotRead) {
  const Problem p = plain_problem({1, 2, 1, 20, 30, 16, 16});
  const Results r = run(p, 1, true);
  Inputs in = p.inputs();
  in.v = {};
  Tensor part({1, 2, 20, 30});
  ThreadPool pool(1);
  ASSERT_NO_THROW(weights(in, p.options, r.lse_view(), {}, part.floats(), pool));
  EXPECT_LE(distance(part, r.weights), 1e-6);
}

TEST(Weights, DropoutIsIgnored) {
  Problem p = plain_problem({1, 2, 1, 20, 30, 16, 16});
  const Results r = run(p, 1, true);
  p.options.dropout = {0.5F, 3};
  EXPECT_LE(distance(rebuild(p, r, {}, {20, 30}), r.weights), 1e-6);
}

TEST(Weights, GapsBetweenTheRowsAreNotWritten) {
  const Problem p = plain_problem({2, 2, 1, 20, 70, 16, 16});
  const Results r = run(p, 1, true);
  for (const Layout layout : {Layout::sliced, Layout::transposed, Layout::reversed}) {
    Tensor part({2, 2, 7, 33}, Type::float32, layout);
    ThreadPool pool(1);
    weights(p.inputs(), p.options, r.lse_view(), {5, 20}, part.floats(), pool);
    EXPECT_EQ(part.spoiled(), 0);
    each(part.shape(), [&](const Shape<4>& at) {
      EXPECT_NEAR(part.get(at), r.weights.get({at[0], at[1], at[2] + 5, at[3] + 20}), 1e-6);
    });
  }
}

TEST(Weights, RowThatSeesNoKeyHasNoWeight) {
  Problem p = plain_problem({1, 1, 1, 30, 70, 8, 8});
  p.options.mask = Causal{-5};
  const Results r = run(p);
  const Tensor part = rebuild(p, r, {0, 0}, {5, 70});
  each(part.shape(), [&](const Shape<4>& at) { EXPECT_EQ(part.get(at), 0); });
}

TEST(Weights, NanStaysInItsRow) {
  Problem p = plain_problem({1, 1, 1, 30, 70, 8, 8});
  const Results clean = run(p, 1, true);
  p.q.set({0, 0, 13, 2}, std::numeric_limits<float>::quiet_NaN());
  const Results r = run(p, 1, true);
  const Tensor part = rebuild(p, r, {0, 0}, {30, 70});
  each(part.shape(), [&](const Shape<4>& at) {
    if (at[2] == 13) {
      EXPECT_TRUE(std::isnan(part.get(at)) && std::isnan(r.weights.get(at)));
    } else {
      EXPECT_NEAR(part.get(at), clean.weights.get(at), 1e-6);
      EXPECT_NEAR(r.weights.get(at), clean.weights.get(at), 1e-6);
    }
  });
}

TEST(Weights, RectangleOutsideTheTableIsRefused) {
  const Problem p = plain_problem({1, 2, 1, 20, 30, 16, 16});
  const Results r = run(p);
  for (const auto& [window, size] : std::vector<std::pair<Rectangle, Shape<2>>>{
           {{-1, 0}, {5, 5}}, {{0, -2}, {5, 5}}, {{16, 0}, {5, 5}}, {{0, 26}, {5, 5}}}) {
    Tensor part({1, 2, size[0], size[1]});
    const Tensor fresh({1, 2, size[0], size[1]});
    ThreadPool pool(1);
    try {
      weights(p.inputs(), p.options, r.lse_view(), window, part.floats(), pool);
      ADD_FAILURE() << "threw nothing";
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(std::to_string(window.row != 0 ? window.row : window.col)));
      EXPECT_THAT(error.what(), testing::HasSubstr("20"));
      EXPECT_THAT(error.what(), testing::HasSubstr("30"));
    }
    EXPECT_TRUE(same_bits(part, fresh));
  }
}

TEST(Weights, WrongShapesAreRefused) {
  const Problem p = plain_problem({2, 2, 1, 20, 30, 16, 16});
  Results r(p.sizes, true);
  ThreadPool pool(1);
  for (const Shape<4>& shape : {Shape<4>{1, 2, 20, 30}, {2, 1, 20, 30}, {2, 2, 19, 30}, {2, 2, 20, 29}}) {
    const View<float, 4> table(r.weights.floats().data, shape);
    EXPECT_THROW(attention(p.inputs(), p.options, r.out.floats(), r.lse_view(), table, pool), std::invalid_argument);
  }
  const View<const float, 3> short_lse(r.lse_view().data, {2, 2, 19});
  EXPECT_THROW(weights(p.inputs(), p.options, short_lse, {}, r.weights_view(), pool), std::invalid_argument);
  EXPECT_THROW(weights(p.inputs(), p.options, {}, {}, r.weights_view(), pool), std::invalid_argument);
  View<float, 4> sparse(r.weights.floats().data, {2, 2, 20, 15});
  sparse.strides[3] = 2;
  EXPECT_THROW(weights(p.inputs(), p.options, r.lse_view(), {}, sparse, pool), std::invalid_argument);
  EXPECT_TRUE(r.untouched());
}

}  // namespace
}  // namespace attn::test
