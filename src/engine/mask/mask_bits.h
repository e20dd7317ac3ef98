// engine/mask/mask_bits.h - words of 64 keys, and saturating sums of positions.
#pragma once

#include <cstdint>
#include <limits>

namespace attn::detail {

inline constexpr std::uint64_t kNoKey = 0;
inline constexpr std::uint64_t kEveryKey = ~kNoKey;

// Bits of the keys first ... last, both included, in the word of keys j ... j + 63. j is not negative.
constexpr std::uint64_t bits_between(std::int64_t j, std::int64_t first, std::int64_t last) noexcept {
  if (last < j || first > last) return kNoKey;
  std::uint64_t bits = last - j >= 63 ? kEveryKey : (std::uint64_t{2} << (last - j)) - 1;
  if (first > j) bits = first - j >= 64 ? kNoKey : bits & (kEveryKey << (first - j));
  return bits;
}

// position + distance, or the largest integer if that overflows. position is not negative.
constexpr std::int64_t reach(std::int64_t position, std::int64_t distance) noexcept {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  return distance > most - position ? most : position + distance;
}

}  // namespace attn::detail
