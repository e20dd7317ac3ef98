// tests/engine/backward/backward_support.h - textbook gradients of attention: plain loops in double precision.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "attn/backward.h"
#include "tests/support/problem.h"
#include "tests/support/tensor.h"

namespace attn::test {

// A gradient, and how much rounding to float may change each of its numbers.
struct Sums {
  std::vector<double> value, doubt;

  explicit Sums(std::size_t n) : value(n), doubt(n) {}
  void add(std::size_t at, double x, double doubt_of_x) {
    value[at] += x;
    doubt[at] += doubt_of_x;
  }
};

struct TextbookGradients {
  Sums dq, dk, dv, d_bias, d_sink, d_dense_bias;
};

// d_out is [B, H, N, E]. out and lse come from the textbook too.
TextbookGradients textbook_gradients(const Problem& p, const Tensor& d_out);
TextbookGradients textbook_gradients(const Problem& p, const Packing& packing, const Tensor& d_out);

// Arrays for gradients, filled with NaN, so that unwritten numbers are noticed.
struct GradientTensors {
  explicit GradientTensors(const Problem& p, Layout layout = Layout::dense);

  [[nodiscard]] Gradients to() noexcept;
  [[nodiscard]] bool untouched() const;
  [[nodiscard]] bool same_bits(const GradientTensors& other) const;

  Tensor dq, dk, dv;
  Tensor d_bias, d_sink;  // [1, 1, 1|H, N+M-1] and [1, 1, 1, H]; empty if the problem has none
  Tensor d_dense_bias;    // of the shape of the problem's own
};

// Forward and backward with a pool of `threads`.
GradientTensors differentiate(const Problem& p, const Tensor& d_out, int threads = 1);
GradientTensors differentiate(const Problem& p, const Packing& packing, const Tensor& d_out, int threads = 1);
GradientTensors differentiate_linear(const Problem& p, const LinearOptions& options, const Tensor& d_out,
                                     int threads = 1, Layout layout = Layout::dense);
// d_out of bell-shaped numbers.
Tensor random_d_out(const Problem& p, std::uint64_t seed = 77);

// A term x of row i may have the error |x| (1e-5 + 4 doubt[i]) (see Textbook). |error| of a sum may be the sum of these
// bounds plus their average. The message names the worst element.
testing::AssertionResult agree(const TextbookGradients& book, const GradientTensors& got);

}  // namespace attn::test
