// engine/kernels/rows/row_ops.h - the steps between two products: activations, norms, rows looked up in a table.
#pragma once

#include <cstdint>

#include "engine/kernels/common/plain.h"

namespace attn::kernels {

// In the order of attn::nn::Activation.
enum class Activation : std::uint8_t { none, relu, gelu, gelu_tanh, silu, tanh };

// Rows of floats to write.
struct OutRows {
  float* data = nullptr;
  std::int64_t stride = 0;
};
// Rows of floats to read.
struct InRows {
  const float* data = nullptr;
  std::int64_t stride = 0;
};

// x = f(x), or x = f(from); times `up` if there is one. NaN stays NaN and +inf stays +inf (tanh: 1). -inf becomes the
// limit of f: 0, or a number below 1e-35; -1 for tanh.
struct Activate {
  OutRows x;
  InRows up;    // null: none
  InRows from;  // null: x itself; must be null if there is an up
  std::int64_t rows = 0, width = 0;
  Activation function = Activation::none;
};
void activate(const Activate& task) noexcept;

// out = (x - mean) / sqrt(variance + epsilon) * weight + bias, or, if not centered, x / sqrt(mean of x^2 + epsilon) *
// weight. out may be x. Error below 1e-6 of the largest |out| / weight where |mean| is at most 1000 times the
// deviation.
struct Normalize {
  InRows x;
  OutRows out;
  std::int64_t rows = 0, width = 0;
  const float* weight = nullptr;
  const float* bias = nullptr;  // null: 0
  float epsilon = 0;
  bool centered = true;
};
void normalize(const Normalize& task) noexcept;

// out[i] = table[ids[i]], or out[i] += table[ids[i]] if `add`. Without ids, row i of the table.
struct Gather {
  Rows table;
  const std::int32_t* ids = nullptr;
  OutRows out;
  std::int64_t rows = 0, width = 0;
  bool add = false;
};
void gather(const Gather& task) noexcept;

}  // namespace attn::kernels
