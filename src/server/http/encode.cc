#include "server/http/encode.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace attn::server {

static_assert(std::endian::native == std::endian::little);

namespace {

// A NaN becomes 0.
float root_of(float weight) { return weight > 0 ? std::sqrt(std::min(weight, 1.0F)) : 0.0F; }

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

}  // namespace attn::server
