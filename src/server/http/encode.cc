#include "server/http/encode.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <new>

namespace attn::server {

static_assert(std::endian::native == std::endian::little);

namespace {

// A NaN becomes 0.
float root_of(float weight) { return weight > 0 ? std::sqrt(std::min(weight, 1.0F)) : 0.0F; }

// zlib's windowBits: 15, plus 16 for a gzip header and trailer.
std::string compressed(std::string_view bytes, int window_bits) {
  constexpr int kLevel = 6, kMemory = 8;
  z_stream stream{};
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, window_bits, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  // zlib counts in 32 bits. Responses are far smaller, but must never be truncated.
  std::size_t left = bytes.size(), room = out.size();
  int state = Z_OK;
  while (state == Z_OK) {
    const auto in = static_cast<uInt>(std::min<std::size_t>(left, 1U << 30));
    const auto space = static_cast<uInt>(std::min<std::size_t>(room, 1U << 30));
    stream.avail_in = in;
    stream.avail_out = space;
    state = deflate(&stream, in == left ? Z_FINISH : Z_NO_FLUSH);
    left -= in - stream.avail_in;
    room -= space - stream.avail_out;
  }
  deflateEnd(&stream);
  out.resize(out.size() - room);
  return out;
}

}  // namespace

void append_coded(std::string& bytes, std::span<const float> weights, Bits bits) {
  for (const float weight : weights) {
    const float root = root_of(weight);
    if (bits == Bits::eight) {
      bytes.push_back(static_cast<char>(std::lround(255 * root)));
      continue;
    }
    const auto code = static_cast<unsigned>(std::lround(65535 * root));
    bytes.push_back(static_cast<char>(code & 0xFF));
    bytes.push_back(static_cast<char>(code >> 8));
  }
}

std::string coded(const nn::Matrix& weights) {
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(weights.rows() * weights.columns()));
  append_coded(bytes, {weights.data(), static_cast<std::size_t>(weights.rows() * weights.columns())}, Bits::eight);
  return bytes;
}

std::string coded_differences(const nn::Matrix& differences) {
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(differences.rows() * differences.columns()));
  std::for_each_n(differences.data(), differences.rows() * differences.columns(), [&](float d) {
    const long root = std::lround(127 * root_of(std::abs(d)));
    bytes.push_back(static_cast<char>(std::isnan(d) ? 0 : 128 + (d < 0 ? -root : root)));
  });
  return bytes;
}

std::string float_bytes(std::span<const float> numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()};
}

std::string gzipped(std::string_view bytes) { return compressed(bytes, 15 + 16); }
std::string deflated(std::string_view bytes) { return compressed(bytes, 15); }

}  // namespace attn::server
