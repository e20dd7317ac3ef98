// tests/nn/dense_test.cc - linear layers with gradients, against differences and sums in double, on every target.
#include "nn/learn/dense.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <span>
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
using testing::HasSubstr;

// A layer that owns its numbers; there are gaps between the rows of the matrix.
struct OwnedDense {
  std::int64_t in, out;
  bool input_first, has_bias;
  GappedRows w, dw, b, db;

  OwnedDense(std::int64_t i, std::int64_t o, bool first, bool bias, std::uint64_t seed)
      : in(i),
        out(o),
        input_first(first),
        has_bias(bias),
        w(first ? i : o, first ? o : i, 3),
        dw(first ? i : o, first ? o : i, 2),
        b(1, o),
        db(1, o) {
    w.fill(seed, 1 / std::sqrt(static_cast<float>(i)));
    dw.fill(seed + 1);
    b.fill(seed + 2);
    db.fill(seed + 3);
  }
  Dense dense() {
    Dense layer;
    layer.w = {w.view(), dw.view()};
    if (has_bias) layer.b = {{b.view().data, {out}}, {db.view().data, {out}}};
    layer.input_first = input_first;
    return layer;
  }
  [[nodiscard]] double weight(std::int64_t o, std::int64_t i) const { return input_first ? w.at(i, o) : w.at(o, i); }
  [[nodiscard]] double gradient(std::int64_t o, std::int64_t i) const {
    return input_first ? dw.at(i, o) : dw.at(o, i);
  }
};

// The error bound of a sum of n products of numbers of size 1. The sum grows as sqrt(n), and each addition has an error
// of 6e-8 of it. So a chain of n has an error of about 6e-8 n / sqrt 2, and the worst of thousands about five times
// that. Chains are 256 long and are then added.
double tolerance(std::int64_t products) {
  const double chain = std::min<double>(static_cast<double>(products), 256);
  return 2e-6 + 3e-7 * chain * std::sqrt(static_cast<double>(products) / chain);
}

struct Worst {
  double y = 0, dx = 0, dw = 0, db = 0;
};

double larger(double worst, double error) { return std::isnan(error) ? 1e30 : std::max(worst, std::abs(error)); }

// Compares one layer with sums in double. `before` is the layer with the initial gradients.
Worst errors_of(const OwnedDense& before, const OwnedDense& after, const GappedRows& x, const GappedRows& dy,
                const GappedRows& dx) {
  Worst worst;
  for (std::int64_t n = 0; n < x.rows(); ++n) {
    for (std::int64_t i = 0; i < before.in; ++i) {
      double sum = 0;
      for (std::int64_t o = 0; o < before.out; ++o) sum += static_cast<double>(dy.at(n, o)) * before.weight(o, i);
      worst.dx = larger(worst.dx, dx.at(n, i) - sum);
    }
  }
  for (std::int64_t o = 0; o < before.out; ++o) {
    double bias = before.db.at(0, o);
    for (std::int64_t n = 0; n < x.rows(); ++n) bias += dy.at(n, o);
    if (before.has_bias) worst.db = larger(worst.db, after.db.at(0, o) - bias);
    for (std::int64_t i = 0; i < before.in; ++i) {
      double sum = before.gradient(o, i);
      for (std::int64_t n = 0; n < x.rows(); ++n) sum += static_cast<double>(dy.at(n, o)) * x.at(n, i);
      worst.dw = larger(worst.dw, after.gradient(o, i) - sum);
    }
  }
  return worst;
}

TEST(Dense, ForwardEqualsLinearBitForBit) {
  test::on_every_target([](const char* target) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(target + std::string(", case ") + std::to_string(seed));
      Random random(seed);
      OwnedDense layer(random.between(1, 300), random.between(1, 90), random.chance(0.5), random.chance(0.5), seed);
      const auto x = GappedRows(random.between(1, 50), layer.in, 1).fill(seed + 9);
      const auto add = GappedRows(x.rows(), layer.out, 2).fill(seed + 10);
      GappedRows got(x.rows(), layer.out, 3), want(x.rows(), layer.out);
      ThreadPool pool(2);
      const After after{Activation::gelu, random.chance(0.5) ? add.view() : View<const float, 2>()};
      dense(layer.dense(), x.view(), got.view(), pool, after);
      const Dense d = layer.dense();
      const Linear linear({Weight{d.w.value, d.b.value, d.input_first}}, pool);
      linear(x.view(), want.view(), pool, after);
      EXPECT_TRUE(got.same_bits(want));
      EXPECT_TRUE(got.gaps_are_whole());
    }
  });
}

// So many rows and inputs that they are multiplied in stretches; the last stretch is a single row.
TEST(Dense, ManyRowsHaveTheBitsOfFew) {
  test::on_every_target([](const char* target) {
    OwnedDense layer(300, 20, false, true, 1);
    const auto x = GappedRows(2113, 300, 1).fill(2), add = GappedRows(2113, 20, 2).fill(3);
    auto all = add, few = add;
    ThreadPool pool(2);
    dense(layer.dense(), x.view(), all.view(), pool, {Activation::relu, all.view()});
    for (std::int64_t first = 0; first < 2113; first += 100) {
      const std::int64_t count = std::min<std::int64_t>(100, 2113 - first);
      const View<float, 2> y = rows_of(few.view(), first, count);
      dense(layer.dense(), rows_of(x.view(), first, count), y, pool, {Activation::relu, y});
    }
    EXPECT_TRUE(all.same_bits(few)) << target;
    EXPECT_FALSE(all.same_bits(add)) << target;
  });
}

TEST(Dense, GradientsEqualSumsInDoubleForRandomShapes) {
  test::on_every_target([](const char* target) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      SCOPED_TRACE(target + std::string(", case ") + std::to_string(seed));
      Random random(seed);
      const std::int64_t rows = random.pick<std::int64_t>({1, 2, 3, 5, 16, 17, 100, 255, 256, 257, 300});
      const auto some = [&] { return random.pick<std::int64_t>({1, 2, 3, 4, 5, 7, 12, 13, 16, 31, 33, 64, 65, 100}); };
      OwnedDense layer(some(), some(), random.chance(0.5), random.chance(0.7), seed * 10);
      const OwnedDense before = layer;
      const auto x = GappedRows(rows, layer.in, 2).fill(seed + 1);
      const auto dy = GappedRows(rows, layer.out, 1).fill(seed + 2);
      GappedRows dx(rows, layer.in, 3);
      ThreadPool pool(static_cast<int>(random.between(1, 3)));
      dense_backward(layer.dense(), x.view(), dy.view(), dx.view(), pool);
      const Worst worst = errors_of(before, layer, x, dy, dx);
      EXPECT_LT(worst.dx, tolerance(layer.out));
      EXPECT_LT(worst.dw, tolerance(rows));
      EXPECT_LT(worst.db, tolerance(rows));
      EXPECT_TRUE(dx.gaps_are_whole() && layer.dw.gaps_are_whole());
    }
  });
}

// Long enough for several stretches of rows, with a remainder.
TEST(Dense, GradientsOfManyRowsEqualSumsInDouble) {
  for (const bool input_first : {false, true}) {
    OwnedDense layer(130, 70, input_first, true, 5);
    const OwnedDense before = layer;
    const auto x = GappedRows(4231, layer.in).fill(1);
    const auto dy = GappedRows(4231, layer.out, 2).fill(2);
    GappedRows dx(4231, layer.in);
    ThreadPool pool(2);
    dense_backward(layer.dense(), x.view(), dy.view(), dx.view(), pool);
    const Worst worst = errors_of(before, layer, x, dy, dx);
    EXPECT_LT(worst.dx, tolerance(70));
    EXPECT_LT(worst.dw, tolerance(4231));
    EXPECT_LT(worst.db, tolerance(4231));
  }
}

// The loss is sum_n <dy_n, y_n> over two layers with the same input, one of each order, plus <add, x>.
struct TwoLayers {
  std::vector<double> x, w[2], b[2];
  std::int64_t rows, in, out[2];
  const GappedRows *dy[2], *add;

  [[nodiscard]] double loss() const {
    double sum = 0;
    for (std::int64_t n = 0; n < rows; ++n) {
      for (std::int64_t i = 0; i < in; ++i) sum += add->at(n, i) * x[static_cast<std::size_t>(n * in + i)];
      for (int layer = 0; layer < 2; ++layer) {
        for (std::int64_t o = 0; o < out[layer]; ++o) {
          double y = b[layer][static_cast<std::size_t>(o)];
          for (std::int64_t i = 0; i < in; ++i) {
            const std::int64_t at = layer == 1 ? i * out[layer] + o : o * in + i;
            y += x[static_cast<std::size_t>(n * in + i)] * w[layer][static_cast<std::size_t>(at)];
          }
          sum += y * dy[layer]->at(n, o);
        }
      }
    }
    return sum;
  }
};

std::vector<double> doubles(const GappedRows& x) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < x.rows(); ++i)
    for (std::int64_t j = 0; j < x.width(); ++j) numbers.push_back(x.at(i, j));
  return numbers;
}

void expect_near(const GappedRows& got, const std::vector<double>& want, const char* what) {
  std::size_t n = 0;
  for (const double number : doubles(got)) {
    EXPECT_NEAR(number, want[n], 1e-5) << what << " " << n;
    ++n;
  }
}

TEST(Dense, LayersWithOneInputGiveItTheSumOfTheirGradients) {
  test::on_every_target([](const char* target) {
    SCOPED_TRACE(target);
    OwnedDense first(5, 4, false, true, 1), second(5, 7, true, true, 2);
    for (OwnedDense* layer : {&first, &second}) {
      layer->dw.fill(0, 0);
      layer->db.fill(0, 0);
    }
    const auto x = GappedRows(3, 5, 1).fill(3), add = GappedRows(3, 5, 2).fill(4);
    const auto dy1 = GappedRows(3, 4).fill(5), dy2 = GappedRows(3, 7, 1).fill(6);
    GappedRows dx(3, 5, 1), in_place = add;
    TwoLayers exact{doubles(x),
                    {doubles(first.w), doubles(second.w)},
                    {doubles(first.b), doubles(second.b)},
                    3,
                    5,
                    {4, 7},
                    {&dy1, &dy2},
                    &add};
    ThreadPool pool(2);
    const Dense layers[] = {first.dense(), second.dense()};
    const View<const float, 2> dys[] = {dy1.view(), dy2.view()};
    dense_backward(layers, {x.view(), dys, dx.view(), add.view()}, pool);
    const auto loss = [&] { return exact.loss(); };
    expect_near(dx, test::slopes_of(exact.x, loss), "dx");
    expect_near(first.dw, test::slopes_of(exact.w[0], loss), "dw of the first");
    expect_near(second.dw, test::slopes_of(exact.w[1], loss), "dw of the second");
    expect_near(first.db, test::slopes_of(exact.b[0], loss), "db of the first");
    expect_near(second.db, test::slopes_of(exact.b[1], loss), "db of the second");
    dense_backward(layers, {x.view(), dys, in_place.view(), in_place.view()}, pool);
    EXPECT_TRUE(in_place.same_bits(dx));
  });
}

TEST(Dense, GradientsAreAddedAndHaveTheSameBitsForAnyNumberOfThreads) {
  test::on_every_target([](const char* target) {
    for (const bool input_first : {false, true}) {
      SCOPED_TRACE(target + std::string(input_first ? ", input first" : ""));
      const OwnedDense start(150, 130, input_first, true, 3);
      const auto x = GappedRows(1333, 150).fill(1), dy = GappedRows(1333, 130).fill(2);
      std::deque<OwnedDense> layers;
      std::deque<GappedRows> dxs;
      for (const int threads : {1, 2, 3}) {
        ThreadPool pool(threads);
        OwnedDense& layer = layers.emplace_back(start);
        GappedRows& dx = dxs.emplace_back(1333, 150);
        dense_backward(layer.dense(), x.view(), dy.view(), dx.view(), pool);
        EXPECT_TRUE(layer.dw.same_bits(layers.front().dw));
        EXPECT_TRUE(layer.db.same_bits(layers.front().db));
        EXPECT_TRUE(dx.same_bits(dxs.front()));
      }
      EXPECT_FALSE(layers.front().dw.same_bits(start.dw));
    }
  });
}

TEST(Dense, WithoutDxTheGradientsOfTheWeightsAreTheSame) {
  OwnedDense with(20, 30, false, true, 1), without = with;
  const auto x = GappedRows(9, 20).fill(1), dy = GappedRows(9, 30).fill(2);
  GappedRows dx(9, 20);
  ThreadPool pool(1);
  dense_backward(with.dense(), x.view(), dy.view(), dx.view(), pool);
  dense_backward(without.dense(), x.view(), dy.view(), {}, pool);
  EXPECT_TRUE(without.dw.same_bits(with.dw) && without.db.same_bits(with.db));
}

TEST(Dense, NoRowsChangeNothing) {
  OwnedDense layer(4, 3, false, true, 1);
  const OwnedDense before = layer;
  GappedRows x(0, 4), y(0, 3);
  ThreadPool pool(1);
  dense(layer.dense(), x.view(), y.view(), pool);
  dense_backward(layer.dense(), x.view(), y.view(), x.view(), pool);
  EXPECT_TRUE(layer.dw.same_bits(before.dw) && layer.db.same_bits(before.db));
}

TEST(Dense, ShapesThatDisagreeThrowAndNothingIsWritten) {
  OwnedDense layer(4, 3, false, true, 1);
  const OwnedDense before = layer;
  auto x = GappedRows(2, 4).fill(1), y = GappedRows(2, 3).fill(2), narrow = GappedRows(2, 2).fill(3);
  const auto y_before = y, x_before = x;
  ThreadPool pool(1);
  EXPECT_THAT(test::argument_error([&] { dense(layer.dense(), narrow.view(), y.view(), pool); }),
              HasSubstr("x is 2 x 2; the layer has 4 inputs"));
  EXPECT_THAT(test::argument_error([&] { dense(layer.dense(), x.view(), narrow.view(), pool); }),
              HasSubstr("a result of 2 x 2; it must be 2 x 3"));
  EXPECT_THAT(
      test::argument_error([&] { dense(layer.dense(), x.view(), y.view(), pool, {Activation::none, narrow.view()}); }),
      HasSubstr("2 x 2 to be added"));
  EXPECT_THAT(test::argument_error([&] { dense(std::span<const Dense>(), x.view(), {}, pool); }),
              HasSubstr("0 layers"));
  Dense wrong = layer.dense();
  wrong.b.value.shape[0] = 2;
  EXPECT_THAT(test::argument_error([&] { dense(wrong, x.view(), y.view(), pool); }),
              HasSubstr("2 biases for 3 outputs"));
  EXPECT_THAT(test::argument_error([&] { dense_backward(layer.dense(), x.view(), narrow.view(), x.view(), pool); }),
              HasSubstr("it must be 2 x 3"));
  EXPECT_THAT(test::argument_error([&] { dense_backward(layer.dense(), x.view(), y.view(), narrow.view(), pool); }),
              HasSubstr("dx is 2 x 2 and x is 2 x 4"));
  EXPECT_TRUE(x.same_bits(x_before) && y.same_bits(y_before) && layer.dw.same_bits(before.dw));
}

}  // namespace
}  // namespace attn::nn
