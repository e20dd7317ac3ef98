// tests/nn/linear_test.cc - packed products against sums in double, on every instruction set.
#include "nn/infer/linear.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/errors.h"
#include "tests/support/exact.h"
#include "tests/support/rows.h"
#include "tests/support/targets.h"

namespace attn::nn {
namespace {

using test::GappedRows;
using test::Random;
using test::Weights;

struct OwnedLinear {
  std::int64_t in = 0, out = 0;
  Weights matrix, bias;
  bool input_first = false, has_bias = false;

  OwnedLinear(std::int64_t i, std::int64_t o, Type type, bool first, bool with_bias, std::uint64_t seed)
      : in(i),
        out(o),
        matrix(first ? i : o, first ? o : i, type, static_cast<std::int64_t>(seed % 7)),
        bias(1, o, type, 1),
        input_first(first),
        has_bias(with_bias) {
    matrix.fill(seed, 1.0F / std::sqrt(static_cast<float>(i)));
    bias.fill(seed + 1);
  }
  [[nodiscard]] Weight weight() const { return {matrix.view(), has_bias ? bias.flat() : AnyView<1>(), input_first}; }
  [[nodiscard]] double product(const GappedRows& x, std::int64_t row, std::int64_t column) const {
    double sum = has_bias ? bias.get(column) : 0;
    for (std::int64_t k = 0; k < in; ++k) {
      sum += static_cast<double>(x.at(row, k)) * (input_first ? matrix.get(k, column) : matrix.get(column, k));
    }
    return sum;
  }
};

OwnedLinear random_layer(Random& random, std::int64_t in) {
  const std::int64_t out = random.pick<std::int64_t>({1, 2, 7, 8, 15, 16, 31, 32, 33, 64, 100, 288, 300});
  const Type type = random.pick({Type::float32, Type::float16, Type::bfloat16});
  return {in, out, type, random.chance(0.5), random.chance(0.7), random.bits() >> 40};
}

std::int64_t random_inputs(Random& random) {
  return random.pick<std::int64_t>({1, 2, 3, 5, 16, 17, 64, 100, 255, 256, 257, 288, 512, 515, 768, 1000, 1100});
}

// Sums of products of numbers of size 1: 1e-5 is about ten times the rounding error.
void expect_product(const OwnedLinear& layer, const GappedRows& x, const GappedRows& got, Activation f,
                    const GappedRows* add) {
  double worst = 0;
  for (std::int64_t i = 0; i < got.rows(); ++i) {
    for (std::int64_t j = 0; j < got.width(); ++j) {
      const double want = test::exact(f, layer.product(x, i, j)) + (add != nullptr ? add->at(i, j) : 0);
      const double error = std::abs(got.at(i, j) - want);
      worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
    }
  }
  EXPECT_LT(worst, 1e-5);
}

TEST(Linear, EqualsSumsInDoubleForRandomShapes) {
  test::on_every_target([](const char* target) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE(std::string(target) + ", case " + std::to_string(seed));
      Random random(seed);
      const OwnedLinear layer = random_layer(random, random_inputs(random));
      const std::int64_t rows = random.between(1, 40);
      const auto x = GappedRows(rows, layer.in, random.between(0, 3)).fill(seed);
      GappedRows y(rows, layer.out, random.between(0, 3));
      const Activation f = test::kActivations[random.below(std::size(test::kActivations))];
      const GappedRows old = GappedRows(rows, layer.out, random.between(0, 3)).fill(seed + 1000);
      ThreadPool pool(static_cast<int>(random.between(1, 3)));
      const Linear linear({layer.weight()}, pool);
      EXPECT_EQ(linear.inputs(), layer.in);
      EXPECT_EQ(linear.outputs(), layer.out);
      const bool adds = random.chance(0.5);
      linear(x.view(), y.view(), pool, {f, adds ? old.view() : View<const float, 2>()});
      expect_product(layer, x, y, f, adds ? &old : nullptr);
      EXPECT_TRUE(y.gaps_are_whole());
    }
  });
}

TEST(Linear, AddsToWhatIsThereWithTheBitsOfASumBesideIt) {
  test::on_every_target([](const char* target) {
    for (const Activation f : test::kActivations) {
      SCOPED_TRACE(std::string(target) + ", activation " + std::to_string(static_cast<int>(f)));
      const OwnedLinear layer(700, 45, Type::float32, false, true, 5);
      ThreadPool pool(2);
      const Linear linear({layer.weight()}, pool);
      const auto x = GappedRows(14, layer.in).fill(6);
      const auto old = GappedRows(14, layer.out, 2).fill(7);
      GappedRows beside(14, layer.out), onto = old;
      linear(x.view(), beside.view(), pool, {f, old.view()});
      linear(x.view(), onto.view(), pool, {f, onto.view()});
      EXPECT_TRUE(onto.same_bits(beside));
      EXPECT_TRUE(onto.gaps_are_whole());
      expect_product(layer, x, onto, f, &old);
    }
  });
}

TEST(Linear, RowHasTheSameBitsAloneAndInAnyBatch) {
  test::on_every_target([](const char* target) {
    for (const Type type : {Type::float32, Type::float16, Type::bfloat16}) {
      const OwnedLinear layer(1000, 70, type, false, true, 11);
      ThreadPool pool(1);
      const Linear linear({layer.weight()}, pool);
      const auto x = GappedRows(40, layer.in).fill(12);
      GappedRows alone(40, layer.out);
      const After after{Activation::gelu, {}};
      for (std::int64_t i = 0; i < 40; ++i) linear(rows_of(x.view(), i, 1), rows_of(alone.view(), i, 1), pool, after);
      for (std::int64_t rows = 1; rows <= 40; ++rows) {
        SCOPED_TRACE(std::string(target) + ", rows " + std::to_string(rows));
        GappedRows batch(40, layer.out);
        linear(rows_of(x.view(), 40 - rows, rows), rows_of(batch.view(), 40 - rows, rows), pool, after);
        for (std::int64_t i = 40 - rows; i < 40; ++i) {
          for (std::int64_t j = 0; j < layer.out; ++j) ASSERT_EQ(batch.at(i, j), alone.at(i, j)) << i << ", " << j;
        }
      }
    }
  });
}

TEST(Linear, SameBitsForAnyNumberOfThreadsAndBlocks) {
  test::on_every_target([](const char* target) {
    // The last one exceeds the caches: its rows are cut into blocks, and the sums of several panels stay open.
    for (const auto& [rows, in, out] :
         {std::array<std::int64_t, 3>{1, 768, 768}, {5, 300, 1000}, {64, 768, 200}, {530, 1100, 130}}) {
      SCOPED_TRACE(std::string(target) + ", rows " + std::to_string(rows));
      const OwnedLinear layer(in, out, Type::float32, false, true, 21);
      const auto x = GappedRows(rows, in).fill(22);
      ThreadPool one(1);
      const Linear linear({layer.weight()}, one);
      GappedRows want(rows, out);
      linear(x.view(), want.view(), one);
      for (std::int64_t i = 0; i < rows; i += 53) {
        for (std::int64_t j = 0; j < out; j += 17) EXPECT_NEAR(want.at(i, j), layer.product(x, i, j), 1e-5);
      }
      for (const int threads : {2, 3, 7}) {
        ThreadPool pool(threads);
        GappedRows got(rows, out);
        linear(x.view(), got.view(), pool);
        EXPECT_TRUE(got.same_bits(want)) << threads;
        GappedRows again(rows, out);
        Linear({layer.weight()}, pool)(x.view(), again.view(), pool);
        EXPECT_TRUE(again.same_bits(want)) << threads;
      }
    }
  });
}

TEST(Linear, SeveralMatricesAreTheSameAsEachAlone) {
  test::on_every_target([](const char* target) {
    SCOPED_TRACE(target);
    ThreadPool pool(2);
    const std::int64_t in = 290;
    const OwnedLinear q(in, 96, Type::float16, false, true, 31), k(in, 33, Type::float16, true, false, 32),
        v(in, 7, Type::float16, false, true, 33);
    const Linear all({q.weight(), k.weight(), v.weight()}, pool);
    for (const std::int64_t rows : {1, 3, 30}) {
      const auto x = GappedRows(rows, in).fill(34);
      GappedRows a(rows, q.out, 1), b(rows, k.out), c(rows, v.out, 5);
      all(x.view(), {a.view(), b.view(), c.view()}, pool);
      for (const auto& [layer, got] : {std::pair{&q, &a}, {&k, &b}, {&v, &c}}) {
        GappedRows want(rows, layer->out);
        Linear({layer->weight()}, pool)(x.view(), want.view(), pool);
        EXPECT_TRUE(got->same_bits(want));
        EXPECT_TRUE(got->gaps_are_whole());
      }
    }
    EXPECT_EQ(all.outputs(1), 33);
  });
}

TEST(Linear, MatricesOfSeveralTypesBecomeFloats) {
  test::on_every_target([](const char* target) {
    SCOPED_TRACE(target);
    ThreadPool pool(1);
    const OwnedLinear a(100, 40, Type::float32, false, false, 41), b(100, 50, Type::float16, false, true, 42),
        c(100, 33, Type::bfloat16, true, true, 43);
    const auto x = GappedRows(4, 100).fill(44);
    GappedRows ya(4, 40), yb(4, 50), yc(4, 33);
    Linear({a.weight(), b.weight(), c.weight()}, pool)(x.view(), {ya.view(), yb.view(), yc.view()}, pool);
    expect_product(a, x, ya, Activation::none, nullptr);
    expect_product(b, x, yb, Activation::none, nullptr);
    expect_product(c, x, yc, Activation::none, nullptr);
  });
}

TEST(Linear, NanAndInfinityReachTheirRowAndNoOther) {
  test::on_every_target([](const char* target) {
    for (const Activation f : test::kActivations) {
      SCOPED_TRACE(std::string(target) + ", activation " + std::to_string(static_cast<int>(f)));
      ThreadPool pool(1);
      OwnedLinear layer(300, 40, Type::float32, false, true, 51);
      for (std::int64_t n = 0; n < 300 * 40; ++n) layer.matrix.set(n, std::abs(layer.matrix.get(n)) + 0.1F);
      auto x = GappedRows(14, 300).fill(52);
      x.at(3, 299) = std::numeric_limits<float>::quiet_NaN();
      x.at(5, 0) = std::numeric_limits<float>::infinity();
      GappedRows y(14, 40);
      Linear({layer.weight()}, pool)(x.view(), y.view(), pool, {f, {}});
      for (std::int64_t j = 0; j < 40; ++j) {
        EXPECT_TRUE(std::isnan(y.at(3, j)));
        EXPECT_EQ(std::isinf(y.at(5, j)), f != Activation::tanh);
        for (const std::int64_t i : {0, 2, 4, 6, 13}) EXPECT_TRUE(std::isfinite(y.at(i, j)));
      }
    }
  });
}

TEST(Linear, NoRowsAreNoWork) {
  ThreadPool pool(1);
  const OwnedLinear layer(8, 8, Type::float32, false, true, 61);
  GappedRows x(1, 8), y(1, 8);
  Linear({layer.weight()}, pool)(rows_of(x.view(), 0, 0), rows_of(y.view(), 0, 0), pool);
  EXPECT_TRUE(Linear().empty());
}

TEST(Linear, ShapesThatDisagreeAreNamedBeforeAnythingIsWritten) {
  using ::testing::HasSubstr;
  ThreadPool pool(1);
  const OwnedLinear layer(8, 6, Type::float32, false, true, 71);
  const Linear linear({layer.weight(), layer.weight()}, pool);
  const auto x = GappedRows(3, 8).fill(1);
  const auto narrow = GappedRows(3, 7).fill(1);
  auto y = GappedRows(3, 6).fill(2), z = GappedRows(3, 6).fill(3), wide = GappedRows(3, 9).fill(4);
  const auto y0 = y, z0 = z, wide0 = wide;
  EXPECT_THAT(test::argument_error([&] { linear(narrow.view(), {y.view(), z.view()}, pool); }), HasSubstr("3 x 7"));
  EXPECT_THAT(test::argument_error([&] { linear(x.view(), y.view(), pool); }), HasSubstr("1 results"));
  EXPECT_THAT(test::argument_error([&] { linear(x.view(), {y.view(), wide.view()}, pool); }),
              HasSubstr("must be 3 x 6"));
  EXPECT_THAT(test::argument_error([&] { linear(rows_of(x.view(), 0, 2), {y.view(), z.view()}, pool); }),
              HasSubstr("2 x 6"));
  const Linear one({layer.weight()}, pool);
  EXPECT_THAT(test::argument_error([&] { one(x.view(), y.view(), pool, {Activation::none, wide.view()}); }),
              HasSubstr("3 x 9"));
  EXPECT_TRUE(y.same_bits(y0) && z.same_bits(z0) && wide.same_bits(wide0));
}

TEST(Linear, WeightsThatDisagreeAreNamed) {
  using ::testing::HasSubstr;
  ThreadPool pool(1);
  const OwnedLinear a(8, 6, Type::float32, false, true, 81), b(9, 6, Type::float32, false, true, 82);
  EXPECT_THAT(test::argument_error([&] { Linear({a.weight(), b.weight()}, pool); }), HasSubstr("9 inputs"));
  Weight short_bias = a.weight();
  short_bias.bias.shape[0] = 5;
  EXPECT_THAT(test::argument_error([&] { Linear({short_bias}, pool); }), HasSubstr("5 biases for 6"));
  EXPECT_THAT(test::argument_error([&] { Linear({Weight{}}, pool); }), HasSubstr("0 x 0"));
  EXPECT_THAT(test::argument_error([&] { Linear(std::span<const Weight>(), pool); }), HasSubstr("no weights"));
  Weight wide = a.weight();
  wide.matrix.strides[1] = 2;
  EXPECT_THAT(test::argument_error([&] { Linear({wide}, pool); }), HasSubstr("side by side"));
}

TEST(Linear, MatricesInPlaceGiveTheBitsOfPackedOnesAndArePackedAtTheSecondUse) {
  test::on_every_target([](const char* target) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      SCOPED_TRACE(std::string(target) + ", case " + std::to_string(seed));
      Random random(seed + 500);
      const std::int64_t in = random_inputs(random);
      const OwnedLinear first = random_layer(random, in), second = random_layer(random, in);
      const Weight weights[] = {first.weight(), second.weight()};
      ThreadPool pool(2);
      std::int64_t outputs_given_back = 0;
      const Linear packed(weights, pool);
      const Linear in_place(weights,
                            [&](const Weight& w) { outputs_given_back += w.matrix.shape[w.input_first ? 1 : 0]; });
      GappedRows x(random.between(1, 40), in);
      x.fill(seed);
      const auto run = [&](const Linear& linear) {
        Matrix a(x.rows(), first.out), b(x.rows(), second.out);
        linear(x.view(), {a.view(), b.view()}, pool);
        std::vector<float> all(a.data(), a.data() + a.rows() * a.columns());
        all.insert(all.end(), b.data(), b.data() + b.rows() * b.columns());
        return all;
      };
      const std::vector<float> want = run(packed);
      EXPECT_EQ(run(in_place), want);
      EXPECT_EQ(outputs_given_back, 0);
      EXPECT_EQ(run(in_place), want);
      EXPECT_EQ(outputs_given_back, first.out + second.out);
      EXPECT_EQ(run(in_place), want);
      EXPECT_EQ(outputs_given_back, first.out + second.out);
    }
  });
}

}  // namespace
}  // namespace attn::nn
