// server/http/encode.h - encodes weights as bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "nn/infer/matrix.h"

namespace attn::server {

// Weights in [0, 1] on a square-root scale, which keeps more digits of small weights: round(255 sqrt(w)) in 8 bits,
// round(65535 sqrt(w)) in 16, little-endian. Numbers outside [0, 1] are clamped.
enum class Bits : std::uint8_t { eight = 8, sixteen = 16 };
void append_coded(std::string& bytes, std::span<const float> weights, Bits bits);
std::string coded(const nn::Matrix& weights);  // in 8 bits
// Differences d in [-1, 1]: 128 + round(127 sign(d) sqrt(|d|)); NaN is 0.
std::string coded_differences(const nn::Matrix& differences);

std::string float_bytes(std::span<const float> numbers);  // float32, little-endian

}  // namespace attn::server
