// nn/learn/dense.h - linear layers with gradients: y = x w^T + b.
//
//   dx = dy w      dw += dy^T x      db += sum of the rows of dy
#pragma once

#include <cstdint>
#include <span>

#include "attn/thread_pool.h"
#include "attn/view.h"
#include "nn/infer/linear.h"
#include "nn/learn/parameters.h"

namespace attn::nn {

struct Dense {
  Learned<2> w;              // [out, in]; or [in, out], as GPT-2 stores it: see input_first. Rows may have any stride
  Learned<1> b = {};         // [out]; empty: none
  bool input_first = false;  // w is [in, out]

  [[nodiscard]] std::int64_t inputs() const noexcept { return w.value.shape[input_first ? 0 : 1]; }
  [[nodiscard]] std::int64_t outputs() const noexcept { return w.value.shape[input_first ? 1 : 0]; }
};

// ys[n] = x w_n^T + b_n. One call computes all layers with the same input (Q, K and V). The bits of a row depend on
// that row alone. `after` is allowed for a single layer only. Throws std::invalid_argument if shapes disagree.
void dense(std::span<const Dense> layers, View<const float, 2> x, std::span<const View<float, 2>> ys, ThreadPool& pool,
           const After& after = {});
void dense(const Dense& layer, View<const float, 2> x, View<float, 2> y, ThreadPool& pool, const After& after = {});

// dx = sum_n dy_n w_n + add. `add` may be dx itself; empty: nothing. dx must overlap neither dys nor x; empty: not
// wanted. Adds to the gradients of the weights. The result has the same bits for any number of threads.
struct DenseBackward {
  View<const float, 2> x;
  std::span<const View<const float, 2>> dys;
  View<float, 2> dx;
  View<const float, 2> add = {};
};
void dense_backward(std::span<const Dense> layers, const DenseBackward& task, ThreadPool& pool);
void dense_backward(const Dense& layer, View<const float, 2> x, View<const float, 2> dy, View<float, 2> dx,
                    ThreadPool& pool);

}  // namespace attn::nn
