// engine/kernels/attention/dropout.h - dropout without a stored mask: a hash of seed, row and column decides whether a
// weight is kept. Forward and backward compute the same hash, and the result does not depend on threads or blocks.
#pragma once

#include <cstdint>

#include "engine/kernels/common/plain.h"

namespace attn::kernels {

// SplitMix64's finalizer (Steele, Lea, Flood, 2014).
constexpr std::uint64_t mix64(std::uint64_t x) noexcept {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

// Multipliers of a 32-bit hash with low bias (Wellons, "Prospecting for hash functions").
inline constexpr std::uint32_t kDropoutStep = 0x9E3779B1U;
inline constexpr std::uint32_t kDropoutMix1 = 0x21F0AAADU;
inline constexpr std::uint32_t kDropoutMix2 = 0x735A2D97U;

// The row's part of the hash: its low word enters before the first mixing, its high word after it.
constexpr std::uint64_t dropout_row_key(std::uint64_t seed, std::int64_t i) noexcept {
  return mix64(seed ^ mix64(static_cast<std::uint64_t>(i)));
}

// The hash of column j: uniform over all 32-bit numbers.
constexpr std::uint32_t dropout_hash(std::uint64_t row_key, std::int64_t j) noexcept {
  std::uint32_t x = static_cast<std::uint32_t>(j) * kDropoutStep + static_cast<std::uint32_t>(row_key);
  x = (x ^ (x >> 16U)) * kDropoutMix1;
  x = (x ^ (x >> 15U)) * kDropoutMix2;
  x = (x ^ (x >> 15U)) ^ static_cast<std::uint32_t>(row_key >> 32U);
  x = (x ^ (x >> 16U)) * kDropoutMix1;
  return x ^ (x >> 15U);
}

constexpr DropoutHash dropout_with(float rate, std::uint64_t seed) noexcept {
  return {.seed = seed,
          .threshold = static_cast<std::uint32_t>(static_cast<double>(rate) * 4294967296.0),
          .scale = 1 / (1 - rate)};
}

}  // namespace attn::kernels
