#include "server/http/encode.h"

#include <gtest/gtest.h>
#include <zlib.h>

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

std::string inflated(const std::string& packed, std::size_t size, int window_bits) {
  std::string out(size + 1, '\0');
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, window_bits), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

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

TEST(Encode, CompressedTextRoundTrips) {
  test::Random random(8);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100'000}}) {
    std::string text;
    for (std::size_t n = 0; n < size; ++n) text += static_cast<char>(random.below(256));
    EXPECT_EQ(inflated(deflated(text), size, 15), text);
    EXPECT_EQ(inflated(gzipped(text), size, 15 + 16), text);
  }
}

}  // namespace
}  // namespace attn::server
