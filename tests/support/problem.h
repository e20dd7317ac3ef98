// tests/support/problem.h - an attention problem that owns its arrays, made explicitly or at random.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/attention.h"
#include "tests/support/random.h"
#include "tests/support/tensor.h"

namespace attn::test {

struct Sizes {
  std::int64_t B = 1, H = 1, G = 1, N = 1, M = 1, D = 8, E = 8;

  [[nodiscard]] Extent extent() const { return {B, H, N, M}; }
  [[nodiscard]] std::string text() const;
};

struct Problem {
  Sizes sizes;
  Tensor q, k, v;
  std::vector<float> bias, dense_bias, sink;  // what the options point to, if they have it
  Options options;
  std::string text;  // a one-line description

  [[nodiscard]] Inputs inputs() const { return {q.view(), k.view(), v.view()}; }

  // Sets an option whose numbers this problem owns. Values come from stream `seed`.
  void give_bias(std::uint64_t seed, bool per_head);
  void give_dense_bias(std::uint64_t seed, const Shape<4>& shape);
  void give_sink(std::uint64_t seed);
};

// Dense q, k, v from the streams seed, seed + 1, seed + 2; no options.
Problem plain_problem(const Sizes& sizes, std::uint64_t seed = 1, Type type = Type::float32);

// Everything at random: sizes, often at the edges of tiles and vectors, layouts, types, masks, options.
Problem random_problem(std::uint64_t seed);

// A random expression of one to four rules that fits the extent; nearly always some pair is visible.
Mask random_mask(Random& random, const Extent& extent);

// Arrays for results, filled with NaN, so that unwritten numbers are noticed.
struct Results {
  explicit Results(const Sizes& sizes, bool with_weights = false, Layout layout = Layout::dense);

  [[nodiscard]] View<float, 3> lse_view() noexcept;
  [[nodiscard]] View<const float, 3> lse_view() const noexcept;
  [[nodiscard]] View<float, 4> weights_view() noexcept { return weights.floats(); }
  [[nodiscard]] bool untouched() const;

  Tensor out, lse, weights;  // lse [1, B, H, N]
};

// Runs attention() into fresh results with a pool of `threads`.
Results run(const Inputs& in, const Options& options, int threads = 1, bool with_weights = false);
Results run(const Problem& problem, int threads = 1, bool with_weights = false);

bool same_bits(const Tensor& a, const Tensor& b);
// The largest |a - b|; infinite where only one of them is NaN.
double distance(const Tensor& a, const Tensor& b);

}  // namespace attn::test
