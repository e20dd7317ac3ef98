#include "nn/infer/numpy_random.h"

#include <cmath>

namespace attn::nn {

double NumpyRandom::uniform() {
  const auto high = static_cast<double>(bits_() >> 5), low = static_cast<double>(bits_() >> 6);
  return (high * 0x1p26 + low) * 0x1p-53;
}

double NumpyRandom::normal() {
  if (has_kept_) {
    has_kept_ = false;
    return kept_;
  }
  double x = 0, y = 0, r = 0;
  do {
    x = 2 * uniform() - 1;
    y = 2 * uniform() - 1;
    r = x * x + y * y;
  } while (r >= 1 || r == 0);
  const double f = std::sqrt(-2 * std::log(r) / r);
  kept_ = f * x;
  has_kept_ = true;
  return f * y;
}

}  // namespace attn::nn
