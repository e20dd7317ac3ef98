// nn/norm.h - layer norm and RMS norm.
#pragma once

#include <vector>

#include "attn/thread_pool.h"
#include "attn/view.h"

namespace attn::nn {

// out = (x - mean) / sqrt(variance + epsilon) * weight + bias, a row at a time; out may be x.
struct LayerNorm {
  std::vector<float> weight, bias;  // [width]; bias may be empty: 0
  float epsilon = 1e-5F;

  void operator()(View<const float, 2> x, View<float, 2> out, ThreadPool& pool) const;
};

// out = x / sqrt(mean of x^2 + epsilon) * weight; out may be x.
struct RmsNorm {
  std::vector<float> weight;  // [width]
  float epsilon = 1e-6F;

  void operator()(View<const float, 2> x, View<float, 2> out, ThreadPool& pool) const;
};

}  // namespace attn::nn
