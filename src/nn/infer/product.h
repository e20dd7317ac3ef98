// nn/infer/product.h - runs the product kernel on several threads. For the sources of nn only, because it exposes
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

// Scratch floats that a thread keeps from call to call, one array per use, so that a call may hold one while it calls
// another. Aligned to 64 bytes. Invalidates the previous array of the same use.
enum class Use : std::uint8_t { product, panels, head_forward, head_backward, logits, sums };
float* reserve_scratch(Use use, std::int64_t floats);

// A matrix in panels, and its bias padded to whole panels.
struct Panels {
  const float* data = nullptr;
  const float* bias = nullptr;  // null: none
  std::int64_t inputs = 0, outputs = 0;

  [[nodiscard]] kernels::Product times(std::int64_t rows, const View<float, 2>& out) const noexcept;
};
// The size in floats of a packed matrix with a bias; and the function that packs one. w is [out, in], or [in, out] if
// input_first; the bias may be empty.
std::int64_t panel_floats(std::int64_t inputs, std::int64_t outputs) noexcept;
Panels pack_panels(View<const float, 2> w, View<const float, 1> bias, bool input_first, float* to, ThreadPool& pool);

// The left operand: x is [rows, in], or [in, rows] if transposed.
struct ProductRows {
  View<const float, 2> x;
  bool transposed = false;

  [[nodiscard]] std::int64_t rows() const noexcept { return x.shape[transposed ? 1 : 0]; }
  [[nodiscard]] std::int64_t inputs() const noexcept { return x.shape[transposed ? 0 : 1]; }
};

// Computes one or more products of the same rows. Sets Product::x; the caller sets everything else.
void run_products(std::span<kernels::Product> products, const ProductRows& rows, ThreadPool& pool);

// to += a^T b, where a is [N, rows of to] and b [N, columns of to]. N is summed in stretches that depend on the shapes
// alone.
void add_transposed_product(View<const float, 2> a, View<const float, 2> b, View<float, 2> to, ThreadPool& pool);

}  // namespace attn::nn
