// tests/train/training_random_test.cc - the generator against published numbers, and its statistics.
#include "train/training_random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

namespace attn::train {
namespace {

std::uint64_t inverse_of(std::uint64_t odd) {
  std::uint64_t x = odd;
  for (int n = 0; n < 6; ++n) x *= 2 - odd * x;  // Newton
  return x;
}

// The seed that SplitMix64's mixing maps to `state`.
std::uint64_t unmixed(std::uint64_t state) {
  state ^= state >> 31U ^ state >> 62U;
  state *= inverse_of(0x94D049BB133111EBU);
  state ^= state >> 27U ^ state >> 54U;
  state *= inverse_of(0xBF58476D1CE4E5B9U);
  return state ^ state >> 30U ^ state >> 60U;
}

// The usual check values of SplitMix64, for seed 1234567. The last stream adds nothing to the seed.
TEST(TrainingRandom, IsSplitMix64) {
  Random random(unmixed(1234567), ~std::uint64_t{0});
  for (const std::uint64_t want : {6457827717110365317U, 3203168211198807973U, 9817491932198370423U,
                                   4593380528125082431U, 16408922859458223821U}) {
    EXPECT_EQ(random.next(), want);
  }
}

TEST(TrainingRandom, NeitherSeedsNorStreamsShareNumbers) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (std::uint64_t stream = 0; stream < 20; ++stream) {
      Random random(seed, stream);
      for (int n = 0; n < 20; ++n) seen.insert(random.next());
    }
  }
  EXPECT_EQ(seen.size(), 20 * 20 * 20);
}

// 100,000 numbers; the tolerance is six standard deviations of their mean, 6 s / sqrt n.
TEST(TrainingRandom, NumbersHaveTheRightDistribution) {
  constexpr int kCount = 100'000;
  Random random(3, 4);
  double unit = 0, normal = 0, square = 0, beyond = 0;
  std::vector<int> below(10);
  for (int n = 0; n < kCount; ++n) {
    const double u = random.unit(), x = random.normal();
    ASSERT_TRUE(u >= 0 && u < 1);
    unit += u / kCount;
    normal += x / kCount;
    square += x * x / kCount;
    beyond += std::abs(x) > 1.959964 ? 1.0 / kCount : 0;
    ++below.at(static_cast<std::size_t>(random.below(10)));
  }
  EXPECT_NEAR(unit, 0.5, 0.0055);
  EXPECT_NEAR(normal, 0, 0.019);
  EXPECT_NEAR(square, 1, 0.027);
  EXPECT_NEAR(beyond, 0.05, 0.0042);
  for (const int count : below) EXPECT_NEAR(count, kCount / 10.0, 570);
  EXPECT_EQ(random.below(1), 0);
}

}  // namespace
}  // namespace attn::train
