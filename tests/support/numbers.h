// tests/support/numbers.h - special floating-point numbers.
#pragma once

#include <cstdint>
#include <limits>

namespace attn::test {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

}  // namespace attn::test
