#include "base/whole.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace attn::base {
namespace {

TEST(Whole, NumbersInRangeLoseTheirFraction) {
  EXPECT_EQ(whole<std::int64_t>(3.9), 3);
  EXPECT_EQ(whole<std::int64_t>(-3.9), -3);
  EXPECT_EQ(whole<int>(0.0), 0);
}

TEST(Whole, OthersBecomeTheNearestEndOfTheRange) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(whole<std::int64_t>(1e300), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(whole<std::int64_t>(9223372036854775808.0), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(whole<std::int64_t>(-kInfinity), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(whole<int>(3e9), std::numeric_limits<int>::max());
  EXPECT_EQ(whole<std::uint8_t>(-1), 0);
  EXPECT_EQ(whole<int>(std::nan("")), 0);
}

}  // namespace
}  // namespace attn::base
