// engine/runtime/sixteen_bit.h - conversions between float and 16 bits, without branches, so that loops vectorise.
//
// Every NaN becomes quiet and keeps its sign and its upper bits, as in hardware.
#pragma once

#include <bit>
#include <cstdint>

#include "attn/view.h"

namespace attn {

inline constexpr std::uint32_t kFloatSign = 0x80000000u;
inline constexpr std::uint32_t kFloatInfinity = 0x7f800000u;
inline constexpr std::uint32_t kFloatQuiet = 0x00400000u;
inline constexpr std::uint32_t kHalfRebias = (127u - 15u) << 23;

inline float widen(Half x) noexcept {
  const std::uint32_t magnitude = x.bits & 0x7fffu;
  const std::uint32_t shifted = magnitude << 13;
  // Below the smallest normal half: a multiple of 2^-24, which float holds exactly.
  const auto small = std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<int>(magnitude)) * 0x1p-24f);
  const std::uint32_t special = shifted | kFloatInfinity | (magnitude > 0x7c00u ? kFloatQuiet : 0);
  std::uint32_t bits = magnitude < 0x400u ? small : shifted + kHalfRebias;
  bits = magnitude >= 0x7c00u ? special : bits;
  return std::bit_cast<float>(bits | ((std::uint32_t{x.bits} << 16) & kFloatSign));
}

inline float widen(Bfloat x) noexcept { return to_float(x); }
inline float widen(float x) noexcept { return x; }

inline Half narrow(float x, Half) noexcept {
  constexpr std::uint32_t kOverflow = 0x477ff000u;  // 65,520: half way between 65,504 and the next step
  constexpr std::uint32_t kNormal = 0x38800000u;    // 2^-14
  const auto all = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t magnitude = all & ~kFloatSign;
  const std::uint32_t odd = (magnitude >> 13) & 1;
  const std::uint32_t normal = (magnitude - kHalfRebias + 0xfffu + odd) >> 13;
  // Below 2^-14 halves are multiples of 2^-24, as floats from 0.5 to 1 are: the sum rounds to them.
  const auto small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  std::uint32_t bits = magnitude < kNormal ? small : normal;
  bits = magnitude >= kOverflow ? 0x7c00u : bits;
  bits = magnitude > kFloatInfinity ? 0x7e00u | ((magnitude >> 13) & 0x3ffu) : bits;
  return {static_cast<std::uint16_t>(bits | ((all & kFloatSign) >> 16))};
}

inline Bfloat narrow(float x, Bfloat) noexcept {
  const auto all = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t odd = (all >> 16) & 1;
  const std::uint32_t rounded = (all + 0x7fffu + odd) >> 16;
  const bool nan = (all & ~kFloatSign) > kFloatInfinity;
  return {static_cast<std::uint16_t>(nan ? (all | kFloatQuiet) >> 16 : rounded)};
}

inline float narrow(float x, float) noexcept { return x; }

}  // namespace attn
