// nn/infer/product.h - the product kernel, shared out over threads. Only for the sources of this folder: it shows
// kernels.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "attn/thread_pool.h"
#include "attn/view.h"
#include "engine/kernels/product/product.h"

namespace attn::nn {

inline constexpr std::int64_t kPackPanels = 4;  // panels packed at a time

constexpr std::int64_t divide_up(std::int64_t n, std::int64_t by) noexcept { return (n + by - 1) / by; }

std::string shape_text(std::int64_t rows, std::int64_t columns);
template <typename T>
std::string shape_text(const View<T, 2>& x) {
  return shape_text(x.shape[0], x.shape[1]);
}

// Floats that a thread keeps from call to call, each kind for itself: a call may hold one while what it calls holds
// another. Aligned to 64 bytes; what was given for the same use before is void.
enum class Use : std::uint8_t { product, panels, head_forward, head_backward, logits, sums };
float* reserve_scratch(Use use, std::int64_t floats);

// A matrix in panels, and its bias padded to whole ones.
struct Panels {
  const float* data = nullptr;
  const float* bias = nullptr;  // null: none
  std::int64_t inputs = 0, outputs = 0;

  [[nodiscard]] kernels::Product times(std::int64_t rows, const View<float, 2>& out) const noexcept;
};
// Floats that a matrix of this size takes, also with a bias; and what fills them. w is [out, in], or [in, out] if
// input_first; the bias may be empty.
std::int64_t panel_floats(std::int64_t inputs, std::int64_t outputs) noexcept;
Panels pack_panels(View<const float, 2> w, View<const float, 1> bias, bool input_first, float* to, ThreadPool& pool);

// The rows that are multiplied: x is [rows, in], or [in, rows] if transposed.
struct ProductRows {
  View<const float, 2> x;
  bool transposed = false;

  [[nodiscard]] std::int64_t rows() const noexcept { return x.shape[transposed ? 1 : 0]; }
  [[nodiscard]] std::int64_t inputs() const noexcept { return x.shape[transposed ? 0 : 1]; }
};

// Products of the same rows, of which there is at least one. Sets Product::x; all else is set.
void run_products(std::span<kernels::Product> products, const ProductRows& rows, ThreadPool& pool);

// to += a^T b, where a is [N, rows of to] and b [N, columns of to]. N is summed up in stretches that depend on the
// shapes alone.
void add_transposed_product(View<const float, 2> a, View<const float, 2> b, View<float, 2> to, ThreadPool& pool);

}  // namespace attn::nn
