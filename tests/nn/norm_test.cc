// tests/nn/norm_test.cc - norms against double precision, on every instruction set.
#include "nn/infer/norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/rows.h"
#include "tests/support/targets.h"

namespace attn::nn {
namespace {

using test::GappedRows;

std::vector<float> numbers(std::uint64_t seed, std::int64_t count) {
  std::vector<float> x;
  for (std::int64_t n = 0; n < count; ++n) x.push_back(1 + 0.2F * test::bell(seed, static_cast<std::uint64_t>(n)));
  return x;
}

LayerNorm layer_norm(std::int64_t width, bool with_bias) {
  return {numbers(1, width), with_bias ? numbers(2, width) : std::vector<float>(), 1e-5F};
}

// The largest error of a normalized number, before weight and bias scale it.
double norm_error(const LayerNorm& norm, const GappedRows& x, const GappedRows& got) {
  double worst = 0;
  const auto count = static_cast<double>(x.width());
  for (std::int64_t i = 0; i < x.rows(); ++i) {
    double mean = 0, variance = 0;
    for (std::int64_t j = 0; j < x.width(); ++j) mean += x.at(i, j) / count;
    for (std::int64_t j = 0; j < x.width(); ++j) variance += std::pow(x.at(i, j) - mean, 2) / count;
    for (std::int64_t j = 0; j < x.width(); ++j) {
      const auto n = static_cast<std::size_t>(j);
      const double want = (x.at(i, j) - mean) / std::sqrt(variance + static_cast<double>(norm.epsilon)) *
                              static_cast<double>(norm.weight[n]) +
                          (norm.bias.empty() ? 0 : static_cast<double>(norm.bias[n]));
      worst = std::max(worst, std::abs(got.at(i, j) - want) / std::max(1.0, std::abs(want)));
    }
  }
  return worst;
}

constexpr std::int64_t kWidths[] = {1, 2, 7, 8, 15, 16, 17, 63, 64, 65, 100, 288, 768, 1023, 1024, 4096};

TEST(LayerNorm, IsRightToAMillionthForEveryWidth) {
  test::on_every_target([](const char* target) {
    for (const std::int64_t width : kWidths) {
      for (const bool with_bias : {true, false}) {
        SCOPED_TRACE(target + std::string(", width ") + std::to_string(width));
        const LayerNorm norm = layer_norm(width, with_bias);
        const auto x = GappedRows(5, width, 2).fill(3, 3);
        GappedRows out(5, width, 1);
        ThreadPool pool(1);
        norm(x.view(), out.view(), pool);
        EXPECT_LT(norm_error(norm, x, out), 1e-6);
        EXPECT_TRUE(out.gaps_are_whole());
      }
    }
  });
}

TEST(LayerNorm, IsRightFarFromZero) {
  test::on_every_target([](const char* target) {
    const LayerNorm norm = layer_norm(768, true);
    auto x = GappedRows(4, 768).fill(4);
    for (std::int64_t i = 0; i < 4; ++i)
      for (std::int64_t j = 0; j < 768; ++j) x.at(i, j) += 1000;
    GappedRows out(4, 768);
    ThreadPool pool(1);
    norm(x.view(), out.view(), pool);
    EXPECT_LT(norm_error(norm, x, out), 1e-6) << target;
  });
}

TEST(LayerNorm, OfEqualNumbersIsTheBias) {
  test::on_every_target([](const char* target) {
    const LayerNorm norm = layer_norm(100, true);
    GappedRows x(1, 100), out(1, 100);
    for (std::int64_t j = 0; j < 100; ++j) x.at(0, j) = 0.1F;
    ThreadPool pool(1);
    norm(x.view(), out.view(), pool);
    for (std::int64_t j = 0; j < 100; ++j)
      EXPECT_NEAR(out.at(0, j), norm.bias[static_cast<std::size_t>(j)], 1e-5) << target;
  });
}

TEST(RmsNorm, IsRightToAMillionthForEveryWidth) {
  test::on_every_target([](const char* target) {
    for (const std::int64_t width : kWidths) {
      SCOPED_TRACE(target + std::string(", width ") + std::to_string(width));
      const RmsNorm norm{numbers(1, width), 1e-6F};
      const auto x = GappedRows(5, width, 2).fill(3, 3);
      GappedRows out(5, width, 1);
      ThreadPool pool(1);
      norm(x.view(), out.view(), pool);
      EXPECT_TRUE(out.gaps_are_whole());
      for (std::int64_t i = 0; i < 5; ++i) {
        double square = 0;
        for (std::int64_t j = 0; j < width; ++j) square += std::pow(x.at(i, j), 2) / static_cast<double>(width);
        for (std::int64_t j = 0; j < width; ++j) {
          const double want = x.at(i, j) / std::sqrt(square + 1e-6) * norm.weight[static_cast<std::size_t>(j)];
          EXPECT_NEAR(out.at(i, j), want, 1e-6 * std::max(1.0, std::abs(want)));
        }
      }
    }
  });
}

TEST(Norm, InPlaceAndOnAnyNumberOfThreadsHasTheSameBits) {
  test::on_every_target([](const char* target) {
    const auto x = GappedRows(200, 500).fill(5);
    GappedRows want(200, 500);
    const LayerNorm norm = layer_norm(500, true);
    const RmsNorm rms{norm.weight, 1e-6F};
    ThreadPool one(1), three(3);
    norm(x.view(), want.view(), one);
    auto got = x;
    norm(got.view(), got.view(), three);
    EXPECT_TRUE(got.same_bits(want)) << target;
    rms(x.view(), want.view(), one);
    got = x;
    rms(got.view(), got.view(), three);
    EXPECT_TRUE(got.same_bits(want)) << target;
  });
}

TEST(Norm, NanSpoilsItsRowAndNoOther) {
  test::on_every_target([](const char* target) {
    for (const std::int64_t column : {0, 17, 99}) {
      auto x = GappedRows(3, 100).fill(6);
      x.at(1, column) = std::numeric_limits<float>::quiet_NaN();
      GappedRows layer(3, 100), rms(3, 100);
      ThreadPool pool(1);
      layer_norm(100, true)(x.view(), layer.view(), pool);
      RmsNorm{numbers(1, 100), 1e-6F}(x.view(), rms.view(), pool);
      for (std::int64_t j = 0; j < 100; ++j) {
        EXPECT_TRUE(std::isnan(layer.at(1, j)) && std::isnan(rms.at(1, j))) << target;
        EXPECT_TRUE(std::isfinite(layer.at(0, j)) && std::isfinite(rms.at(2, j))) << target;
      }
    }
  });
}

TEST(Norm, OfAnotherWidthThrowsBeforeAnythingIsWritten) {
  const auto x = GappedRows(2, 8).fill(1);
  auto out = GappedRows(2, 8).fill(2), narrow = GappedRows(2, 7).fill(3);
  const auto before = out, narrow_before = narrow;
  ThreadPool pool(1);
  EXPECT_THROW(layer_norm(7, true)(x.view(), out.view(), pool), std::invalid_argument);
  EXPECT_THROW(layer_norm(8, true)(x.view(), narrow.view(), pool), std::invalid_argument);
  EXPECT_THROW((RmsNorm{numbers(1, 9)}(x.view(), out.view(), pool)), std::invalid_argument);
  LayerNorm short_bias = layer_norm(8, true);
  short_bias.bias.pop_back();
  EXPECT_THROW(short_bias(x.view(), out.view(), pool), std::invalid_argument);
  EXPECT_TRUE(out.same_bits(before) && narrow.same_bits(narrow_before));
}

}  // namespace
}  // namespace attn::nn
