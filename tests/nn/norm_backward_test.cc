// tests/nn/norm_backward_test.cc - gradients of norms against differences in double, on every instruction set.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "nn/infer/norm.h"
#include "tests/support/errors.h"
#include "tests/support/exact.h"
#include "tests/support/rows.h"
#include "tests/support/targets.h"

namespace attn::nn {
namespace {

using test::argument_error;
using test::GappedRows;
using test::row_of;
using testing::HasSubstr;

// Weights about 1, biases, and initial gradients.
struct NormNumbers {
  GappedRows weight, bias, d_weight, d_bias;

  explicit NormNumbers(std::int64_t width) : weight(1, width), bias(1, width), d_weight(1, width), d_bias(1, width) {
    weight.fill(1, 0.2F);
    for (std::int64_t j = 0; j < width; ++j) weight.at(0, j) += 1;
    bias.fill(2, 0.3F);
    d_weight.fill(3);
    d_bias.fill(4);
  }
  Norm norm(bool centered, bool with_bias) {
    const Shape<1> shape{weight.width()};
    Norm layer;
    layer.weight = {{weight.view().data, shape}, {d_weight.view().data, shape}};
    if (with_bias) layer.bias = {{bias.view().data, shape}, {d_bias.view().data, shape}};
    layer.centered = centered;
    return layer;
  }
};

// <dy, norm(x)> of one row, in double.
struct ExactRow {
  std::vector<double> x, weight, bias, dy;
  bool centered;

  [[nodiscard]] double loss() const {
    const auto count = static_cast<double>(x.size());
    double mean = 0, square = 0, sum = 0;
    if (centered) {
      for (const double one : x) mean += one / count;
    }
    for (const double one : x) square += (one - mean) * (one - mean) / count;
    for (std::size_t j = 0; j < x.size(); ++j) {
      sum += dy[j] * ((x[j] - mean) / std::sqrt(square + 1e-5F) * weight[j] + bias[j]);
    }
    return sum;
  }
};

struct Want {
  std::deque<std::vector<double>> dx;  // one per row
  std::vector<double> d_weight, d_bias;
};

Want differences(const NormNumbers& numbers, const GappedRows& x, const GappedRows& dy, bool centered) {
  Want want;
  want.d_weight = row_of(numbers.d_weight, 0);
  want.d_bias = row_of(numbers.d_bias, 0);
  for (std::int64_t i = 0; i < x.rows(); ++i) {
    ExactRow row{row_of(x, i), row_of(numbers.weight, 0), row_of(numbers.bias, 0), row_of(dy, i), centered};
    const auto loss = [&] { return row.loss(); };
    want.dx.push_back(test::slopes_of(row.x, loss));
    const std::vector<double> weight = test::slopes_of(row.weight, loss), bias = test::slopes_of(row.bias, loss);
    for (std::size_t j = 0; j < weight.size(); ++j) {
      want.d_weight[j] += weight[j];
      want.d_bias[j] += bias[j];
    }
  }
  return want;
}

TEST(NormBackward, EqualsDifferencesForEveryWidthAndKind) {
  test::on_every_target([](const char* target) {
    for (const std::int64_t width : {2, 3, 7, 8, 16, 17, 33, 64, 65, 100}) {
      for (const bool centered : {true, false}) {
        for (const bool with_bias : {true, false}) {
          SCOPED_TRACE(target + std::string(", width ") + std::to_string(width) + (centered ? ", centered" : ""));
          NormNumbers numbers(width);
          const auto x = GappedRows(3, width, 2).fill(5, 1.5F), dy = GappedRows(3, width, 1).fill(6);
          const Want want = differences(numbers, x, dy, centered);
          GappedRows dx(3, width, 3);
          const auto d_bias_before = numbers.d_bias;
          ThreadPool pool(1);
          norm_backward(numbers.norm(centered, with_bias), {x.view(), dy.view(), dx.view()}, pool);
          for (std::int64_t j = 0; j < width; ++j) {
            const auto n = static_cast<std::size_t>(j);
            // With two numbers the gradient of x is nearly 0, a difference of numbers of size 1.
            for (std::size_t i = 0; i < 3; ++i)
              EXPECT_NEAR(dx.at(static_cast<std::int64_t>(i), j), want.dx[i][n], 1e-5);
            EXPECT_NEAR(numbers.d_weight.at(0, j), want.d_weight[n], 1e-5);
            EXPECT_NEAR(numbers.d_bias.at(0, j), with_bias ? want.d_bias[n] : d_bias_before.at(0, j), 1e-5);
          }
          EXPECT_TRUE(dx.gaps_are_whole());
        }
      }
    }
  });
}

TEST(NormBackward, AddsToDxOrMayWriteOverDy) {
  test::on_every_target([](const char* target) {
    SCOPED_TRACE(target);
    const auto x = GappedRows(4, 37).fill(5), dy = GappedRows(4, 37).fill(6), start = GappedRows(4, 37).fill(7);
    NormNumbers a(37), b(37), c(37);
    GappedRows beside(4, 37);
    auto onto = start, over = dy;
    ThreadPool pool(1);
    norm_backward(a.norm(true, true), {x.view(), dy.view(), beside.view()}, pool);
    norm_backward(b.norm(true, true), {x.view(), dy.view(), onto.view(), true}, pool);
    norm_backward(c.norm(true, true), {x.view(), over.view(), over.view()}, pool);
    EXPECT_TRUE(over.same_bits(beside));
    for (std::int64_t i = 0; i < 4; ++i)
      for (std::int64_t j = 0; j < 37; ++j) EXPECT_FLOAT_EQ(onto.at(i, j), start.at(i, j) + beside.at(i, j));
    EXPECT_TRUE(c.d_weight.same_bits(a.d_weight) && b.d_bias.same_bits(a.d_bias));
  });
}

TEST(NormBackward, SameBitsForAnyNumberOfThreads) {
  test::on_every_target([](const char* target) {
    const auto x = GappedRows(1000, 130).fill(5), dy = GappedRows(1000, 130).fill(6);
    std::deque<NormNumbers> numbers;
    std::deque<GappedRows> dxs;
    for (const int threads : {1, 2, 3}) {
      ThreadPool pool(threads);
      NormNumbers& own = numbers.emplace_back(130);
      GappedRows& dx = dxs.emplace_back(1000, 130);
      norm_backward(own.norm(true, true), {x.view(), dy.view(), dx.view()}, pool);
      EXPECT_TRUE(dx.same_bits(dxs.front())) << target;
      EXPECT_TRUE(own.d_weight.same_bits(numbers.front().d_weight)) << target;
      EXPECT_TRUE(own.d_bias.same_bits(numbers.front().d_bias)) << target;
    }
    // Sums over a thousand rows, in double.
    for (std::int64_t j = 0; j < 130; ++j) {
      double want = NormNumbers(130).d_bias.at(0, j);
      for (std::int64_t i = 0; i < 1000; ++i) want += dy.at(i, j);
      EXPECT_NEAR(numbers.front().d_bias.at(0, j), want, 1e-4) << target;
    }
  });
}

TEST(NormBackward, ForwardHasTheBitsOfTheInferenceNorms) {
  NormNumbers numbers(50);
  const auto x = GappedRows(6, 50).fill(5);
  const std::vector<float> weight(numbers.weight.view().data, numbers.weight.view().data + 50);
  const std::vector<float> bias(numbers.bias.view().data, numbers.bias.view().data + 50);
  GappedRows got(6, 50), want(6, 50);
  ThreadPool pool(1);
  norm(numbers.norm(true, true), x.view(), got.view(), pool);
  LayerNorm{weight, bias, 1e-5F}(x.view(), want.view(), pool);
  EXPECT_TRUE(got.same_bits(want));
  norm(numbers.norm(false, false), x.view(), got.view(), pool);
  RmsNorm{weight, 1e-5F}(x.view(), want.view(), pool);
  EXPECT_TRUE(got.same_bits(want));
}

TEST(NormBackward, NoRowsAndOneNumberPerRow) {
  NormNumbers numbers(1);
  const auto before = numbers.d_weight;
  GappedRows none(0, 1), dx(2, 1);
  const auto x = GappedRows(2, 1).fill(5), dy = GappedRows(2, 1).fill(6);
  ThreadPool pool(1);
  norm_backward(numbers.norm(true, true), {none.view(), none.view(), none.view()}, pool);
  EXPECT_TRUE(numbers.d_weight.same_bits(before));
  norm_backward(numbers.norm(true, true), {x.view(), dy.view(), dx.view()}, pool);
  // A single number is its own mean: its gradient is only rounding error, times 1 / sqrt(epsilon) = 316.
  for (const std::int64_t i : {0, 1}) EXPECT_NEAR(dx.at(i, 0), 0, 1e-4);
}

TEST(NormBackward, ShapesThatDisagreeThrowBeforeAnythingIsWritten) {
  NormNumbers numbers(8);
  const auto before = numbers.d_weight;
  const auto x = GappedRows(2, 8).fill(1), narrow = GappedRows(2, 7).fill(2);
  auto dx = GappedRows(2, 8).fill(3), short_dx = GappedRows(1, 8).fill(4);
  const auto dx_before = dx;
  ThreadPool pool(1);
  const Norm layer = numbers.norm(true, true);
  EXPECT_THAT(argument_error([&] { norm(layer, narrow.view(), dx.view(), pool); }), HasSubstr("x is 2 x 7"));
  EXPECT_THAT(argument_error([&] { norm_backward(layer, {x.view(), narrow.view(), dx.view()}, pool); }),
              HasSubstr("2 x 7"));
  EXPECT_THAT(argument_error([&] { norm_backward(layer, {x.view(), x.view(), short_dx.view()}, pool); }),
              HasSubstr("1 x 8"));
  Norm wrong = layer;
  wrong.bias.value.shape[0] = 7;
  EXPECT_THAT(argument_error([&] { norm_backward(wrong, {x.view(), x.view(), dx.view()}, pool); }),
              HasSubstr("7 biases for 8 weights"));
  EXPECT_TRUE(dx.same_bits(dx_before) && numbers.d_weight.same_bits(before));
}

}  // namespace
}  // namespace attn::nn
