// nn/infer/norm.h - layer norm and RMS norm.
#pragma once

#include <vector>

#include "attn/thread_pool.h"
#include "attn/view.h"
#include "nn/learn/parameters.h"

namespace attn::nn {

// out = (x - mean) / sqrt(variance + epsilon) * weight + bias, row by row; out may be x.
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

// A norm with gradients: LayerNorm, or RmsNorm if not centered.
struct Norm {
  Learned<1> weight, bias;  // [width]; bias may be empty: 0
  float epsilon = 1e-5F;
  bool centered = true;
};

void norm(const Norm& layer, View<const float, 2> x, View<float, 2> y, ThreadPool& pool);

// Writes the gradient of x to dx, or adds it if `add`; dx may be dy unless `add`. Adds to the gradients of weight and
// bias. Mean and deviation are recomputed from x, so nothing else need be kept. The result has the same bits for any
// number of threads.
struct NormBackward {
  View<const float, 2> x, dy;
  View<float, 2> dx;
  bool add = false;
};
void norm_backward(const Norm& layer, const NormBackward& task, ThreadPool& pool);

}  // namespace attn::nn
