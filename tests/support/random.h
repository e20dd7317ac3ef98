// tests/support/random.h - random numbers that are the same on every machine and in every language.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <iterator>

namespace attn::test {

// SplitMix64 (Steele, Lea & Flood, 2014): a good hash of a counter.
inline std::uint64_t hash(std::uint64_t x) noexcept {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

// Number `index` of stream `seed`: bell-shaped, in [-4, 4], mean 0, standard deviation 1.15. The four 16-bit parts of a
// hash are added, so that the value is a multiple of 2^-15 and exact in float; tests/golden/make_attention.py
// makes the same numbers.
inline float bell(std::uint64_t seed, std::uint64_t index) noexcept {
  const std::uint64_t x = hash((seed << 32) + index);
  const auto sum =
      static_cast<std::int64_t>((x & 0xFFFF) + ((x >> 16) & 0xFFFF) + ((x >> 32) & 0xFFFF) + ((x >> 48) & 0xFFFF));
  return static_cast<float>(sum - 131070) / 32768.0F;
}

class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(hash(seed)) {}

  std::uint64_t bits() noexcept { return hash(state_++); }
  // In [0, n).
  std::int64_t below(std::int64_t n) noexcept {
    return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(n));
  }
  // In [low, high], both included.
  std::int64_t between(std::int64_t low, std::int64_t high) noexcept { return low + below(high - low + 1); }
  double uniform() noexcept { return std::ldexp(static_cast<double>(bits() >> 11), -53); }
  float uniform(double low, double high) noexcept { return static_cast<float>(low + (high - low) * uniform()); }
  bool chance(double probability) noexcept { return uniform() < probability; }

  template <typename T>
  T pick(std::initializer_list<T> choices) noexcept {
    return *std::next(choices.begin(), below(static_cast<std::int64_t>(choices.size())));
  }

 private:
  std::uint64_t state_;
};

}  // namespace attn::test
