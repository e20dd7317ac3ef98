#include "server/http/compress.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

#include "base/markup.h"
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

TEST(Compress, TextRoundTrips) {
  test::Random random(8);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100'000}}) {
    std::string text;
    for (std::size_t n = 0; n < size; ++n) text += static_cast<char>(random.below(256));
    EXPECT_EQ(inflated(deflated(text), size, 15), text);
    EXPECT_EQ(inflated(gzipped(text), size, 15 + 16), text);
  }
}

// FIPS 180-4, the example of one block.
TEST(Compress, HashIsThatOfTheStandard) {
  EXPECT_EQ(base::base64(sha256("abc")), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
}

}  // namespace
}  // namespace attn::server
