// train/training_random.h - random numbers that are the same on every machine: SplitMix64 (Steele, Lea, Flood: Fast
// Splittable Pseudorandom Number Generators, OOPSLA 2014).
#pragma once

#include <cmath>
#include <cstdint>

namespace attn::train {

class Random {
 public:
  // Different streams are independent.
  Random(std::uint64_t seed, std::uint64_t stream) noexcept : state_(mixed(seed) ^ mixed(~stream)) {}

  std::uint64_t next() noexcept { return mixed(state_ += 0x9E3779B97F4A7C15U); }
  double unit() noexcept { return static_cast<double>(next() >> 11U) * 0x1p-53; }  // [0, 1)
  // [0, n). The bias is below n / 2^64.
  std::int64_t below(std::int64_t n) noexcept {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::int64_t>((Wide{next()} * static_cast<std::uint64_t>(n)) >> 64U);
  }
  // Mean 0, deviation 1: the polar method (Marsaglia, 1962), one of each pair.
  double normal() noexcept {
    for (;;) {
      const double x = 2 * unit() - 1, y = 2 * unit() - 1, r = x * x + y * y;
      if (r > 0 && r < 1) return x * std::sqrt(-2 * std::log(r) / r);
    }
  }

 private:
  static std::uint64_t mixed(std::uint64_t z) noexcept {
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  std::uint64_t state_;
};

}  // namespace attn::train
