// tests/support/exact.h - activations in double precision, and derivatives by finite differences.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "nn/infer/activation.h"

namespace attn::test {

inline double exact(nn::Activation f, double x) {
  switch (f) {
    case nn::Activation::none:
      return x;
    case nn::Activation::relu:
      return x > 0 ? x : 0;
    case nn::Activation::gelu:
      return x / 2 * std::erfc(-x / std::sqrt(2.0));
    case nn::Activation::gelu_tanh:
      return x / (1 + std::exp(-2 * std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case nn::Activation::silu:
      return x / (1 + std::exp(-x));
    case nn::Activation::tanh:
      return std::tanh(x);
  }
  return x;
}

inline constexpr nn::Activation kActivations[] = {nn::Activation::none, nn::Activation::relu,
                                                  nn::Activation::gelu, nn::Activation::gelu_tanh,
                                                  nn::Activation::silu, nn::Activation::tanh};

// df/dx by central differences. In double, a step of 1e-5 is accurate to about 1e-10 of f, far better than float.
template <typename F>
double slope_of(double& x, const F& f) {
  const double before = x, step = 1e-5 * std::max(1.0, std::abs(before));
  x = before + step;
  const double up = f();
  x = before - step;
  const double down = f();
  x = before;
  return (up - down) / (2 * step);
}

// The derivative at every number.
template <typename F>
std::vector<double> slopes_of(std::vector<double>& x, const F& f) {
  std::vector<double> slopes;
  for (double& one : x) slopes.push_back(slope_of(one, f));
  return slopes;
}

}  // namespace attn::test
