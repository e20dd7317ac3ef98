#include "engine/runtime/number_text.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

namespace attn {
namespace {

// What printf writes in the locale of a test, which is "C".
std::string printed(const char* format, int digits, double value) {
  char text[512];
  std::snprintf(text, sizeof text, format, digits, value);
  return text;
}

TEST(NumberText, IsWhatPrintfWrites) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> mantissa(-10, 10), exponent(-30, 30);
  for (int n = 0; n < 1000; ++n) {
    const double value = n == 0 ? 0 : n == 1 ? DBL_MAX : mantissa(random) * std::pow(10, exponent(random));
    for (const int digits : {0, 1, 6, 17}) {
      EXPECT_EQ(number_text(value, std::chars_format::fixed, digits), printed("%.*f", digits, value));
      EXPECT_EQ(number_text(value, std::chars_format::scientific, digits), printed("%.*e", digits, value));
      EXPECT_EQ(number_text(value, std::chars_format::general, digits), printed("%.*g", digits, value));
    }
  }
}

TEST(NumberText, ShortestTextIsThatOfItsType) {
  EXPECT_EQ(number_text(0.1F), "0.1");
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(-3.0), "-3");
  EXPECT_EQ(number_text(std::numeric_limits<double>::infinity()), "inf");
}

}  // namespace
}  // namespace attn
