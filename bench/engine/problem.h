// bench/engine/problem.h - an attention problem filled with normally distributed numbers.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

#include "attn/attention.h"

namespace bench {

struct Problem {
  explicit Problem(const attn::Shape<4>& bhnd)
      : shape(bhnd), q(normal(1)), k(normal(2)), v(normal(3)), out(q.size()), lse(q.size() / size_of_row()) {}

  void attend(const attn::Options& options, attn::ThreadPool& pool) {
    const attn::Inputs in{view(q), view(k), view(v)};
    attn::attention(in, options, {out.data(), shape}, {lse.data(), {shape[0], shape[1], shape[2]}}, pool);
  }

  attn::Shape<4> shape;  // [B, H, N, D]
  std::vector<float> q, k, v, out, lse;

 private:
  [[nodiscard]] std::size_t size_of_row() const { return static_cast<std::size_t>(shape[3]); }
  [[nodiscard]] attn::View<const float, 4> view(const std::vector<float>& x) const { return {x.data(), shape}; }
  [[nodiscard]] std::vector<float> normal(unsigned seed) const {
    std::mt19937 random(seed);
    std::normal_distribution<float> draw;
    std::vector<float> x(static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3]));
    for (float& value : x) value = draw(random);
    return x;
  }
};

}  // namespace bench
