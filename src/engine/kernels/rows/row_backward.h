// engine/kernels/rows/row_backward.h - the way back through what happens to rows between two products.
#pragma once

#include <cstdint>

#include "engine/kernels/rows/row_ops.h"

namespace attn::kernels {

// dx = f'(x) dy; times `up` where there is one, and then d_up = f(x) dy. dx may be dy. Error of f' below 2e-6.
struct ActivateBackward {
  InRows x, dy;
  OutRows dx;
  InRows up;     // null: none
  OutRows d_up;  // null: none
  std::int64_t rows = 0, width = 0;
  Activation function = Activation::none;
};
void activate_backward(const ActivateBackward& task) noexcept;

// With y = normalize(x): dx = the gradient of x, or dx += it; and what the rows add to the gradients of weight and
// bias. dx may be dy if nothing is added to it.
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

// to[j] += sum_i x[i, j], the rows being summed in order first.
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
