// engine/kernels/rows/row_backward.h - gradients of the steps between two products: activations, norms, look-ups.
#pragma once

#include <cstdint>

#include "engine/kernels/rows/row_ops.h"

namespace attn::kernels {

// dx = f'(x) dy. With a gate, dx = f'(x) dy up and d_up = f(x) dy. dx may be dy. The error of f' is below 2e-6.
struct ActivateBackward {
  InRows x, dy;
  OutRows dx;
  InRows up;     // null: none
  OutRows d_up;  // null: none
  std::int64_t rows = 0, width = 0;
  Activation function = Activation::none;
};
void activate_backward(const ActivateBackward& task) noexcept;

// The gradients of y = normalize(x): writes dx, or adds to it, and adds to d_weight and d_bias. dx may be dy unless
// `add` is set.
struct NormalizeBackward {
  InRows x, dy;
  OutRows dx;
  std::int64_t rows = 0, width = 0;
  const float* weight = nullptr;
  float* d_weight = nullptr;  // [width], added to
  float* d_bias = nullptr;    // likewise; null: not wanted
  float epsilon = 0;
  bool centered = true;
  bool add = false;
};
void normalize_backward(const NormalizeBackward& task) noexcept;

// to[j] += sum_i x[i, j]. The rows are summed in order before they are added.
struct AddColumns {
  InRows x;
  std::int64_t rows = 0, width = 0;
  float* to = nullptr;
};
void add_columns(const AddColumns& task) noexcept;

// table[ids[i]] += x[i], in the order of i.
struct Scatter {
  InRows x;
  const std::int32_t* ids = nullptr;
  OutRows table;
  std::int64_t rows = 0, width = 0;
};
void scatter(const Scatter& task) noexcept;

}  // namespace attn::kernels
