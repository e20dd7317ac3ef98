// tests/nn/loss_test.cc - cross-entropy against finite differences in double, with and without a head, on every
// instruction set.
#include "nn/learn/loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/errors.h"
#include "tests/support/exact.h"
#include "tests/support/numbers.h"
#include "tests/support/resident.h"
#include "tests/support/rows.h"
#include "tests/support/targets.h"

namespace attn::nn {
namespace {

using test::argument_error;
using test::GappedRows;
using test::kInfinity;
using test::kNan;
using test::Random;
using test::row_of;
using testing::HasSubstr;

double exact_loss(const std::vector<double>& logits, std::int32_t label) {
  const double peak = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const double x : logits) sum += std::exp(x - peak);
  return std::log(sum) + peak - logits[static_cast<std::size_t>(label)];
}

// About a quarter of the rows have no label.
std::vector<std::int32_t> random_labels(std::int64_t rows, std::int64_t classes, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < rows; ++i)
    labels.push_back(random.chance(0.25) ? kNoLabel : static_cast<std::int32_t>(random.below(classes)));
  return labels;
}

TEST(CrossEntropy, GradientEqualsDifferencesForEveryWidth) {
  test::on_every_target([](const char* target) {
    for (const std::int64_t classes : {1, 2, 5, 8, 16, 17, 31, 33, 64, 100}) {
      SCOPED_TRACE(target + std::string(", classes ") + std::to_string(classes));
      const auto logits = GappedRows(6, classes, 2).fill(1, 3);
      const std::vector<std::int32_t> labels = random_labels(6, classes, 2);
      auto gradient = logits;
      ThreadPool pool(2);
      const Loss loss = cross_entropy(gradient.view(), labels, 0.25F, pool);
      double sum = 0;
      for (std::int64_t i = 0; i < 6; ++i) {
        const std::int32_t label = labels[static_cast<std::size_t>(i)];
        std::vector<double> x = row_of(logits, i);
        if (label != kNoLabel) sum += exact_loss(x, label);
        const std::vector<double> want = label == kNoLabel
                                             ? std::vector<double>(x.size())
                                             : test::slopes_of(x, [&] { return exact_loss(x, label) / 4; });
        for (std::int64_t j = 0; j < classes; ++j)
          EXPECT_NEAR(gradient.at(i, j), want[static_cast<std::size_t>(j)], 1e-6);
      }
      EXPECT_NEAR(loss.sum, sum, 1e-5);
      EXPECT_TRUE(gradient.gaps_are_whole());
      const Loss alone = cross_entropy_loss(logits.view(), labels, pool);
      EXPECT_EQ(alone.sum, loss.sum);
      EXPECT_EQ(alone.counted, loss.counted);
      EXPECT_EQ(alone.right, loss.right);
    }
  });
}

TEST(CrossEntropy, OfManyClassesIsRightToAMillionth) {
  test::on_every_target([](const char* target) {
    const auto logits = GappedRows(3, 30'001).fill(1, 4);
    ThreadPool pool(1);
    for (const std::int32_t label : {0, 12'345, 30'000}) {
      const Loss loss = cross_entropy_loss(logits.view(), std::vector<std::int32_t>(3, label), pool);
      double want = 0;
      for (std::int64_t i = 0; i < 3; ++i) want += exact_loss(row_of(logits, i), label);
      EXPECT_NEAR(loss.sum / want, 1, 1e-6) << target;
    }
  });
}

TEST(CrossEntropy, LogitsFarApartNeitherOverflowNorVanish) {
  test::on_every_target([](const char* target) {
    SCOPED_TRACE(target);
    std::vector<float> x = {3e4F, -3e4F, 0, 1e-3F};
    ThreadPool pool(1);
    EXPECT_NEAR(cross_entropy_loss({x.data(), {1, 4}}, std::vector<std::int32_t>{1}, pool).sum, 6e4, 1e-2);
    EXPECT_EQ(cross_entropy_loss({x.data(), {1, 4}}, std::vector<std::int32_t>{0}, pool).sum, 0);
    x[1] = -kInfinity;  // an excluded class
    EXPECT_EQ(cross_entropy_loss({x.data(), {1, 4}}, std::vector<std::int32_t>{1}, pool).sum,
              std::numeric_limits<double>::infinity());
    const Loss loss = cross_entropy({x.data(), {1, 4}}, std::vector<std::int32_t>{0}, 1, pool);
    EXPECT_EQ(loss.sum, 0);
    for (const float gradient : x) EXPECT_EQ(gradient, 0);
  });
}

TEST(CrossEntropy, NanShowsInTheLoss) {
  test::on_every_target([](const char* target) {
    for (const float bad : {kNan, kInfinity}) {
      for (const std::int64_t column : {0, 16, 36}) {
        auto x = GappedRows(2, 37).fill(1);
        x.at(1, column) = bad;
        ThreadPool pool(1);
        EXPECT_TRUE(std::isnan(cross_entropy_loss(x.view(), std::vector<std::int32_t>{3, 16}, pool).sum)) << target;
      }
    }
  });
}

TEST(CrossEntropy, RightIsTheFirstOfTheLargestLogits) {
  test::on_every_target([](const char* target) {
    std::vector<float> x(20, 0.0F);
    x[7] = x[9] = x[18] = 2;
    ThreadPool pool(1);
    for (std::int32_t label = 0; label < 20; ++label) {
      const Loss loss = cross_entropy_loss({x.data(), {1, 20}}, std::vector<std::int32_t>{label}, pool);
      EXPECT_EQ(loss.right, label == 7 ? 1 : 0) << target << " " << label;
      EXPECT_EQ(loss.counted, 1);
    }
  });
}

TEST(CrossEntropy, SameBitsForAnyNumberOfThreads) {
  test::on_every_target([](const char* target) {
    const auto logits = GappedRows(500, 300).fill(1, 2);
    const std::vector<std::int32_t> labels = random_labels(500, 300, 3);
    auto want = logits;
    ThreadPool one(1);
    const Loss first = cross_entropy(want.view(), labels, 1, one);
    for (const int threads : {2, 3}) {
      auto got = logits;
      ThreadPool pool(threads);
      EXPECT_EQ(cross_entropy(got.view(), labels, 1, pool).sum, first.sum) << target;
      EXPECT_TRUE(got.same_bits(want)) << target;
    }
  });
}

TEST(CrossEntropy, WithoutLabelsThereIsNoLossAndNoGradient) {
  auto x = GappedRows(3, 4).fill(1), none = GappedRows(0, 4);
  ThreadPool pool(1);
  const Loss loss = cross_entropy(x.view(), std::vector<std::int32_t>(3, kNoLabel), 1, pool);
  EXPECT_EQ(loss.mean(), 0);
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 4; ++j) EXPECT_EQ(x.at(i, j), 0);
  EXPECT_EQ(cross_entropy(none.view(), {}, 1, pool).counted, 0);
}

TEST(CrossEntropy, InvalidLabelsThrowBeforeAnythingIsWritten) {
  auto x = GappedRows(2, 4).fill(1);
  const auto before = x;
  ThreadPool pool(1);
  EXPECT_THAT(argument_error([&] { cross_entropy(x.view(), std::vector<std::int32_t>{0, 4}, 1, pool); }),
              HasSubstr("label 1 is 4; it must be below 4, or -100 for none"));
  EXPECT_THAT(argument_error([&] { cross_entropy_loss(x.view(), std::vector<std::int32_t>{-1, 0}, pool); }),
              HasSubstr("label 0 is -1"));
  EXPECT_THAT(argument_error([&] { cross_entropy(x.view(), std::vector<std::int32_t>{1}, 1, pool); }),
              HasSubstr("1 labels for 2 rows"));
  EXPECT_TRUE(x.same_bits(before));
}

// A head with initial gradients.
struct Head {
  GappedRows w, dw, b, db;
  bool input_first;

  Head(std::int64_t in, std::int64_t classes, bool first = false)
      : w(first ? in : classes, first ? classes : in, 1),
        dw(first ? in : classes, first ? classes : in, 2),
        b(1, classes),
        db(1, classes),
        input_first(first) {
    w.fill(1, 0.5F);
    dw.fill(2);
    b.fill(3);
    db.fill(4);
  }
  Dense dense() {
    return {{w.view(), dw.view()}, {{b.view().data, {b.width()}}, {db.view().data, {b.width()}}}, input_first};
  }
};

// The same by computing all logits.
Loss in_steps(Head& head, const HeadLoss& task, ThreadPool& pool) {
  GappedRows logits(task.x.shape[0], head.b.width());
  dense(head.dense(), task.x, logits.view(), pool);
  const Loss loss = cross_entropy(logits.view(), task.labels, task.weight, pool);
  dense_backward(head.dense(), task.x, logits.view(), task.dx, pool);
  return loss;
}

double largest_difference(const GappedRows& a, const GappedRows& b) {
  double worst = 0;
  for (std::int64_t i = 0; i < a.rows(); ++i)
    for (std::int64_t j = 0; j < a.width(); ++j) {
      const double d = std::abs(static_cast<double>(a.at(i, j)) - b.at(i, j));
      worst = std::isnan(d) ? 1e30 : std::max(worst, d);
    }
  return worst;
}

// Its steps are compared with differences elsewhere; this tests the rest: gathering rows, chunks, sums.
TEST(HeadLoss, EqualsItsStepsForAnyNumberOfRows) {
  test::on_every_target([](const char* target) {
    for (const std::int64_t rows : {1, 2, 17, 255, 600}) {
      for (const bool input_first : {false, true}) {
        SCOPED_TRACE(target + std::string(", rows ") + std::to_string(rows));
        Head got(20, 37, input_first), want = got;
        const auto x = GappedRows(rows, 20, 2).fill(5);
        std::vector<std::int32_t> labels = random_labels(rows, 37, 6);
        labels[0] = 3;
        GappedRows dx(rows, 20, 1), want_dx(rows, 20);
        ThreadPool pool(2);
        const Loss loss = head_loss(got.dense(), {x.view(), labels, 0.5F, dx.view()}, pool);
        const Loss wanted = in_steps(want, {x.view(), labels, 0.5F, want_dx.view()}, pool);
        EXPECT_NEAR(loss.sum, wanted.sum, 1e-12 * wanted.sum);
        EXPECT_EQ(loss.counted, wanted.counted);
        EXPECT_EQ(loss.right, wanted.right);
        EXPECT_LT(largest_difference(dx, want_dx), 1e-6);
        EXPECT_LT(largest_difference(got.dw, want.dw), 2e-5);  // sums of hundreds of terms, in another order
        EXPECT_LT(largest_difference(got.db, want.db), 2e-5);
        EXPECT_TRUE(dx.gaps_are_whole() && got.dw.gaps_are_whole());
        EXPECT_EQ(head_loss(got.dense(), {x.view(), labels, 0.5F, {}}, pool).sum, loss.sum);
      }
    }
  });
}

TEST(HeadLoss, LossAloneLeavesGradientsAsTheyWere) {
  Head head(20, 37);
  const Head before = head;
  const auto x = GappedRows(10, 20).fill(5);
  ThreadPool pool(1);
  head_loss(head.dense(), {x.view(), random_labels(10, 37, 6), 1, {}}, pool);
  EXPECT_TRUE(head.dw.same_bits(before.dw) && head.db.same_bits(before.db));
}

TEST(HeadLoss, RowsWithoutLabelChangeNothingAndGetNoGradient) {
  const auto x = GappedRows(30, 20).fill(5);
  GappedRows labelled(10, 20);
  std::vector<std::int32_t> labels(30, kNoLabel), few;
  for (std::int64_t i = 0; i < 10; ++i) {
    few.push_back(static_cast<std::int32_t>(i));
    labels[static_cast<std::size_t>(3 * i + 1)] = few.back();
    for (std::int64_t j = 0; j < 20; ++j) labelled.at(i, j) = x.at(3 * i + 1, j);
  }
  Head a(20, 37), b(20, 37);
  auto dx = GappedRows(30, 20).fill(9), few_dx = GappedRows(10, 20).fill(9);
  ThreadPool pool(1);
  const Loss with = head_loss(a.dense(), {x.view(), labels, 1, dx.view()}, pool);
  const Loss without = head_loss(b.dense(), {labelled.view(), few, 1, few_dx.view()}, pool);
  EXPECT_EQ(with.sum, without.sum);
  EXPECT_TRUE(a.dw.same_bits(b.dw) && a.db.same_bits(b.db));
  for (std::int64_t i = 0; i < 30; ++i)
    for (std::int64_t j = 0; j < 20; ++j) EXPECT_EQ(dx.at(i, j), i % 3 == 1 ? few_dx.at(i / 3, j) : 0);
}

TEST(HeadLoss, SameBitsForAnyNumberOfThreads) {
  test::on_every_target([](const char* target) {
    const auto x = GappedRows(700, 64).fill(5);
    const std::vector<std::int32_t> labels = random_labels(700, 333, 6);
    std::deque<Head> heads;
    std::deque<GappedRows> dxs;
    double first = 0;
    for (const int threads : {1, 2, 3}) {
      ThreadPool pool(threads);
      Head& head = heads.emplace_back(64, 333);
      GappedRows& dx = dxs.emplace_back(700, 64);
      const Loss loss = head_loss(head.dense(), {x.view(), labels, 1, dx.view()}, pool);
      if (threads == 1) first = loss.sum;
      EXPECT_EQ(loss.sum, first) << target;
      EXPECT_TRUE(dx.same_bits(dxs.front()) && head.dw.same_bits(heads.front().dw)) << target;
      EXPECT_TRUE(head.db.same_bits(heads.front().db)) << target;
    }
  });
}

TEST(HeadLoss, NeverHoldsAllLogits) {
  constexpr std::int64_t kRows = 4000, kClasses = 16'384;  // 262 MB of logits
  Head head(16, kClasses);
  const auto x = GappedRows(kRows, 16).fill(5);
  GappedRows dx(kRows, 16);
  const std::vector<std::int32_t> labels(kRows, 5);
  ThreadPool pool(2);
  const std::int64_t grown = test::peak_growth_kilobytes(
      [&] { EXPECT_EQ(head_loss(head.dense(), {x.view(), labels, 1, dx.view()}, pool).counted, kRows); });
  if (grown < 0) GTEST_SKIP() << "the system does not say how much memory there is";
  EXPECT_LT(grown, 64 * 1024);
}

TEST(HeadLoss, ShapesAndLabelsThatDisagreeThrowBeforeAnythingIsWritten) {
  Head head(20, 37);
  const Head before = head;
  const auto x = GappedRows(2, 20).fill(1), narrow = GappedRows(2, 19).fill(2);
  auto dx = GappedRows(2, 19).fill(3);
  const std::vector<std::int32_t> labels = {1, 2}, wrong = {1, 37};
  ThreadPool pool(1);
  EXPECT_THAT(argument_error([&] { head_loss(head.dense(), {narrow.view(), labels, 1, {}}, pool); }),
              HasSubstr("the head has 20 inputs"));
  EXPECT_THAT(argument_error([&] { head_loss(head.dense(), {x.view(), labels, 1, dx.view()}, pool); }),
              HasSubstr("dx 2 x 19"));
  EXPECT_THAT(argument_error([&] { head_loss(head.dense(), {x.view(), wrong, 1, {}}, pool); }),
              HasSubstr("label 1 is 37; it must be below 37"));
  EXPECT_TRUE(head.dw.same_bits(before.dw));
}

}  // namespace
}  // namespace attn::nn
