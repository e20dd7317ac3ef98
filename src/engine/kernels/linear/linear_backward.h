// engine/kernels/linear/linear_backward.h - gradients of linear attention, for one head of keys and the heads of
// queries that share it.
#pragma once

#include <cstdint>

#include "engine/kernels/common/plain.h"
#include "engine/kernels/linear/linear.h"

namespace attn::kernels {

// Rows to write, `stride` floats apart; heads are `head` floats apart.
struct GradientRows {
  float* data = nullptr;
  std::int64_t stride = 0, head = 0;
};

struct LinearBackward {
  Rows q, k, v;
  Rows out, d_out;                                        // float32
  std::int64_t q_head = 0, out_head = 0, d_out_head = 0;  // elements from head to head
  std::int64_t heads = 0, queries = 0, keys = 0;
  LinearWidths widths;  // D and E
  Phi phi = Phi::elu_plus_one;
  float epsilon = 0;
  bool causal = false;  // queries = keys
  GradientRows dq, dk, dv;
  float* terms = nullptr;    // [heads][queries][2], scratch
  float* scratch = nullptr;  // linear_backward_scratch() floats, aligned to 64 bytes
};
std::int64_t linear_backward_scratch(const LinearWidths& widths) noexcept;
void linear_backward(const LinearBackward& task) noexcept;

}  // namespace attn::kernels
