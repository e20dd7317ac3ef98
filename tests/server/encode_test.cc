#include "server/http/encode.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/random.h"

namespace attn::server {
namespace {

TEST(Encode, AByteIsTheSquareRootOfTheWeight) {
  std::string bytes;
  append_coded(bytes, std::vector<float>{0, 1, 0.25F, 1e-6F, 4e-6F, 2, -1, std::numeric_limits<float>::quiet_NaN()},
               Bits::eight);
  EXPECT_EQ(bytes, std::string("\x00\xFF\x80\x00\x01\xFF\x00\x00", 8));
}

TEST(Encode, SixteenBitsAreLittleEndianAndExactToFiveDigits) {
  std::string bytes;
  append_coded(bytes, std::vector<float>{1, 0.25F}, Bits::sixteen);
  EXPECT_EQ(bytes, std::string("\xFF\xFF\x00\x80", 4));
  test::Random random(3);
  for (int n = 0; n < 1000; ++n) {
    const auto weight = static_cast<float>(random.uniform());
    bytes.clear();
    append_coded(bytes, {&weight, 1}, Bits::sixteen);
    const double root = (static_cast<unsigned char>(bytes[0]) + 256.0 * static_cast<unsigned char>(bytes[1])) / 65535;
    EXPECT_NEAR(root * root, weight, 1.6e-5);
  }
}

TEST(Encode, FloatsKeepTheirBits) {
  const std::vector<float> numbers{0.1F, -0.0F, 1e-40F};
  const std::string bytes = float_bytes(numbers);
  ASSERT_EQ(bytes.size(), 12U);
  for (std::size_t n = 0; n < 3; ++n) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, bytes.data() + 4 * n, 4);
    EXPECT_EQ(bits, std::bit_cast<std::uint32_t>(numbers[n]));
  }
}

}  // namespace
}  // namespace attn::server
