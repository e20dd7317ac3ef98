// engine/runtime/view.cc - conversions of single numbers.
#include "attn/view.h"

#include "engine/runtime/sixteen_bit.h"

namespace attn {

float to_float(Half x) noexcept { return widen(x); }
Half to_half(float x) noexcept { return narrow(x, Half{}); }
Bfloat to_bfloat(float x) noexcept { return narrow(x, Bfloat{}); }

}  // namespace attn
