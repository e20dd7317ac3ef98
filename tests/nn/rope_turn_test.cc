// tests/nn/rope_turn_test.cc - the gradient of rotary positions.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "nn/infer/rope.h"
#include "tests/support/rows.h"

namespace attn::nn {
namespace {

using test::GappedRows;

RopeTable turns(std::int64_t rows, std::int64_t pairs, float factor) {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(rows));
  std::iota(positions.begin(), positions.end(), 3);
  RopeTable table(rows, pairs);
  table.fill(0, positions, {rope_frequencies(10000, 2 * pairs), factor});
  return table;
}

double product(const GappedRows& a, const GappedRows& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.rows(); ++i)
    for (std::int64_t j = 0; j < a.width(); ++j) sum += static_cast<double>(a.at(i, j)) * b.at(i, j);
  return sum;
}

// The rotation is linear, so the gradient is the transposed matrix: <dy, turn(x)> = <turn_back(dy), x>. Heads are wider
// than the rotated part, and cos and sin have a factor.
TEST(RopeTable, TurnBackIsTheTransposeOfTurn) {
  for (const std::int64_t pairs : {1, 3, 8, 20}) {
    const std::int64_t heads = 3, width = 2 * pairs + 5;
    const RopeTable table = turns(7, pairs, 1.25F);
    const auto x = GappedRows(7, heads * width, 2).fill(1), dy = GappedRows(7, heads * width, 1).fill(2);
    auto turned = x, back = dy;
    ThreadPool pool(2);
    table.turn(turned.view(), heads, pool);
    table.turn_back(back.view(), heads, pool);
    EXPECT_NEAR(product(dy, turned), product(back, x), 1e-4);
    EXPECT_TRUE(back.gaps_are_whole());
    // Changing one number by 1 changes the loss by its gradient.
    for (std::int64_t j = 0; j < heads * width; ++j) {
      GappedRows unit(7, heads * width);
      unit.fill(0, 0).at(4, j) = 1;
      table.turn(unit.view(), heads, pool);
      EXPECT_NEAR(back.at(4, j), product(dy, unit), 1e-5);
    }
  }
}

TEST(RopeTable, TurningBackUndoesATurnThatEnlargesNothing) {
  const RopeTable table = turns(5, 16, 1);
  const auto x = GappedRows(5, 64).fill(1);
  auto y = x;
  ThreadPool pool(1);
  table.turn(y.view(), 2, pool);
  EXPECT_FALSE(y.same_bits(x));
  table.turn_back(y.view(), 2, pool);
  for (std::int64_t i = 0; i < 5; ++i)
    for (std::int64_t j = 0; j < 64; ++j) EXPECT_NEAR(y.at(i, j), x.at(i, j), 1e-6);
}

TEST(RopeTable, TurningBackHasTheSameBitsForAnyNumberOfThreads) {
  const RopeTable table = turns(2000, 16, 1);
  auto one = GappedRows(2000, 64).fill(1);
  auto three = one;
  ThreadPool single(1), several(3);
  table.turn_back(one.view(), 2, single);
  table.turn_back(three.view(), 2, several);
  EXPECT_TRUE(three.same_bits(one));
}

}  // namespace
}  // namespace attn::nn
