// base/whole.h - doubles of unknown origin as integers.
#pragma once

#include <concepts>
#include <limits>

namespace attn::base {

// `value` without its fraction, moved to the nearest end of T's range if it is beyond it; NaN becomes 0. A plain cast
// of such a value is undefined behaviour.
template <std::integral T>
constexpr T whole(double value) noexcept {
  constexpr T kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
  if (!(value == value)) return 0;
  // As a double, the largest 64-bit integer is rounded up to one that does not fit.
  if (value >= static_cast<double>(kMost)) return kMost;
  return value <= static_cast<double>(kLeast) ? kLeast : static_cast<T>(value);
}

}  // namespace attn::base
