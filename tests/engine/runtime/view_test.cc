// 16-bit numbers against an independent conversion, and what a View promises about strides.
#include "attn/view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "tests/support/numbers.h"

namespace attn {
namespace {

using test::kInfinity;
using test::kNan;

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// The value that a format of `fraction_bits` and this exponent bias gives to the bits, from the definition.
double value_of(std::uint16_t bits, int fraction_bits, int bias) {
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const int exponent = (bits & 0x7fff) >> fraction_bits;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 2 * bias + 1) return fraction != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

double half_value(std::uint16_t bits) { return value_of(bits, 10, 15); }
double bfloat_value(std::uint16_t bits) { return value_of(bits, 7, 127); }

// The nearest positive number of the format, by search among all of them: the largest at or below x and its successor
// are the candidates; of two equally near ones, the even one. Infinity counts as the number after the largest.
template <typename Value>
std::uint16_t nearest(double x, std::uint16_t infinity, double beyond, const Value& value) {
  const auto worth = [&](std::uint16_t b) { return b == infinity ? beyond : value(b); };
  std::uint16_t low = 0;
  std::uint16_t high = infinity;
  while (high - low > 1) {
    const auto middle = static_cast<std::uint16_t>((low + high) / 2);
    (worth(middle) <= x ? low : high) = middle;
  }
  const double down = x - worth(low);
  const double up = worth(high) - x;
  if (down == up) return low % 2 == 0 ? low : high;
  return down < up ? low : high;
}

std::uint16_t nearest_half(double x) { return nearest(x, 0x7c00, 65536, half_value); }
std::uint16_t nearest_bfloat(double x) { return nearest(x, 0x7f80, 0x1p128, bfloat_value); }

// Floats of all magnitudes, and those at, just below and just above every rounding boundary.
std::vector<float> hard_positive_floats(bool for_half) {
  std::vector<float> all = {0, 1, 65504, 65519.996f, 65520, 65535, 65536, 1e30f, 3.4028235e38f, 1e-45f, 1e-40f};
  const std::uint16_t infinity = for_half ? 0x7c00 : 0x7f80;
  for (std::uint16_t b = 0; b + 1 < infinity; ++b) {
    const double low = for_half ? half_value(b) : bfloat_value(b);
    const double high = for_half ? half_value(b + 1) : bfloat_value(b + 1);
    const auto middle = static_cast<float>((low + high) / 2);
    for (float x : {static_cast<float>(low), middle}) {
      all.push_back(x);
      all.push_back(std::nextafter(x, kInfinity));
      if (x > 0) all.push_back(std::nextafter(x, 0.0f));
    }
  }
  std::mt19937 random(7);
  for (int i = 0; i < 200000; ++i)
    if (const float x = float_of(random() & 0x7fffffffu); std::isfinite(x)) all.push_back(x);
  return all;
}

TEST(Half, HasTheValueOfItsDefinition) {
  for (std::uint32_t b = 0; b <= 0xffff; ++b) {
    const float x = to_float(Half{static_cast<std::uint16_t>(b)});
    const double expected = half_value(static_cast<std::uint16_t>(b));
    if (std::isnan(expected))
      ASSERT_TRUE(std::isnan(x)) << b;
    else
      ASSERT_EQ(bits_of(x), bits_of(static_cast<float>(expected))) << b;  // bits: -0 is not 0
  }
}

TEST(Half, AllSurviveARoundTripThroughFloat) {
  for (std::uint32_t b = 0; b <= 0xffff; ++b) {
    const bool nan = (b & 0x7fff) > 0x7c00;
    const std::uint32_t expected = nan ? b | 0x0200 : b;  // a signalling NaN becomes a quiet one
    ASSERT_EQ(to_half(to_float(Half{static_cast<std::uint16_t>(b)})).bits, expected) << b;
  }
}

TEST(Half, RoundsToNearestWithTiesToEven) {
  for (float x : hard_positive_floats(true)) {
    ASSERT_EQ(to_half(x).bits, nearest_half(x)) << std::hexfloat << x;
    ASSERT_EQ(to_half(-x).bits, nearest_half(x) | 0x8000) << std::hexfloat << -x;
  }
}

#ifdef __FLT16_MANT_DIG__
TEST(Half, RoundsAsTheCompilerDoes) {
  for (float x : hard_positive_floats(true))
    for (float y : {x, -x})
      ASSERT_EQ(to_half(y).bits, std::bit_cast<std::uint16_t>(static_cast<_Float16>(y))) << std::hexfloat << y;
  for (std::uint32_t b = 0; b <= 0xffff; ++b) {
    const auto bits = static_cast<std::uint16_t>(b);
    ASSERT_EQ(bits_of(to_float(Half{bits})), bits_of(static_cast<float>(std::bit_cast<_Float16>(bits)))) << b;
  }
}
#endif

TEST(Half, LimitsAreExact) {
  EXPECT_EQ(to_half(65504).bits, 0x7bff);
  EXPECT_EQ(to_half(65519.996f).bits, 0x7bff);
  EXPECT_EQ(to_half(65520).bits, 0x7c00);
  EXPECT_EQ(to_half(-1e38f).bits, 0xfc00);
  EXPECT_EQ(to_half(kInfinity).bits, 0x7c00);
  EXPECT_EQ(to_half(0x1p-24f).bits, 1);
  EXPECT_EQ(to_half(0x1p-25f).bits, 0) << "a tie, to even";
  EXPECT_EQ(to_half(std::nextafter(0x1p-25f, 1.0f)).bits, 1);
  EXPECT_EQ(to_half(std::nextafter(0x1p-14f, 0.0f)).bits, 0x0400) << "rounds up to the smallest normal";
  EXPECT_EQ(to_half(-0.0f).bits, 0x8000);
}

TEST(Half, NanStaysNan) {
  for (std::uint32_t b : {0x7fc00000u, 0x7f800001u, 0xff800001u, 0x7fffffffu, 0xffffffffu, 0x7f801fffu}) {
    const auto half = to_half(float_of(b));
    EXPECT_GT(half.bits & 0x7fff, 0x7c00) << std::hex << b;
    EXPECT_EQ(half.bits >> 15, b >> 31) << std::hex << b;
  }
}

TEST(Bfloat, HasTheValueOfItsDefinitionAndSurvivesARoundTripThroughFloat) {
  for (std::uint32_t b = 0; b <= 0xffff; ++b) {
    const auto bits = static_cast<std::uint16_t>(b);
    const float x = to_float(Bfloat{bits});
    const double expected = bfloat_value(bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(x)) << b;
      ASSERT_EQ(to_bfloat(x).bits, b | 0x0040) << b;
    } else {
      ASSERT_EQ(bits_of(x), bits_of(static_cast<float>(expected))) << b;
      ASSERT_EQ(to_bfloat(x).bits, b);
    }
  }
}

TEST(Bfloat, RoundsToNearestWithTiesToEven) {
  for (float x : hard_positive_floats(false)) {
    ASSERT_EQ(to_bfloat(x).bits, nearest_bfloat(x)) << std::hexfloat << x;
    ASSERT_EQ(to_bfloat(-x).bits, nearest_bfloat(x) | 0x8000) << std::hexfloat << -x;
  }
}

TEST(Bfloat, SpecialNumbersArePreserved) {
  EXPECT_EQ(to_bfloat(kInfinity).bits, 0x7f80);
  EXPECT_EQ(to_bfloat(-kInfinity).bits, 0xff80);
  EXPECT_EQ(to_bfloat(std::numeric_limits<float>::max()).bits, 0x7f80) << "nearer to 2^128 than to the largest";
  EXPECT_TRUE(std::isnan(to_float(to_bfloat(kNan))));
  EXPECT_TRUE(std::isnan(to_float(to_bfloat(float_of(0x7f800001u))))) << "a NaN whose upper bits are infinity's";
  EXPECT_TRUE(std::isnan(to_float(to_bfloat(float_of(0x7fffffffu))))) << "rounding up must not make it -0";
}

TEST(View, DenseStridesEndInOne) {
  EXPECT_EQ((dense_strides<4>({2, 3, 4, 5})), (Shape<4>{60, 20, 5, 1}));
  EXPECT_EQ((dense_strides<1>({9})), (Shape<1>{1}));
}

TEST(View, FindsElementsByStride) {
  std::vector<float> numbers(24);
  for (std::size_t i = 0; i < 24; ++i) numbers[i] = static_cast<float>(i);
  const View<float, 3> dense(numbers.data(), {2, 3, 4});
  EXPECT_EQ(dense(1, 2, 3), 23);
  EXPECT_EQ(*dense.at(1), 12);
  EXPECT_EQ(dense.size(), 24);
  const View<float, 3> swapped(numbers.data(), {3, 2, 4}, {4, 12, 1});
  EXPECT_EQ(swapped(2, 1, 3), dense(1, 2, 3));
  const View<float, 2> repeated(numbers.data() + 4, {5, 4}, {0, 1});
  EXPECT_EQ(repeated(4, 3), 7);
  const View<float, 2> backwards(numbers.data() + 20, {6, 4}, {-4, 1});
  EXPECT_EQ(backwards(5, 0), 0);
}

TEST(View, DefaultIsEmptyAndTypesConvertOneWayOnly) {
  EXPECT_TRUE((View<float, 2>().empty()));
  EXPECT_TRUE((AnyView<2>().empty()));
  static_assert(std::is_convertible_v<View<float, 2>, View<const float, 2>>);
  static_assert(!std::is_convertible_v<View<const float, 2>, View<float, 2>>);
  static_assert(!std::is_convertible_v<View<double, 2>, AnyView<2>>);
  Half h[3] = {};
  const AnyView<1> any = View<const Half, 1>(h, {3});
  EXPECT_EQ(any.type, Type::float16);
  EXPECT_EQ(any.data, h);
  EXPECT_EQ(any.shape[0], 3);
  EXPECT_EQ(AnyView<1>(View<Bfloat, 1>()).type, Type::bfloat16);
}

}  // namespace
}  // namespace attn
