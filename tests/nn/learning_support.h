// tests/nn/learning_support.h - textbook versions of the layers: plain loops in double precision, and gradients by
// finite differences.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "nn/learn/block.h"
#include "nn/learn/parameters.h"
#include "nn/learn/stack.h"

namespace attn::test {

struct Table {
  std::int64_t rows = 0, columns = 0;
  std::vector<double> numbers = std::vector<double>(static_cast<std::size_t>(rows * columns));

  [[nodiscard]] double& operator()(std::int64_t i, std::int64_t j) {
    return numbers[static_cast<std::size_t>(i * columns + j)];
  }
  [[nodiscard]] double operator()(std::int64_t i, std::int64_t j) const {
    return numbers[static_cast<std::size_t>(i * columns + j)];
  }
};
Table table_of(View<const float, 2> from);

// Everything that a loss depends on, by name.
using Numbers = std::map<std::string, Table, std::less<>>;
Numbers numbers_of(const nn::Parameters& parameters);

// Fills parameters with bell-shaped numbers; vectors whose name has "norm.weight" are about 1. Clears gradients.
void fill(nn::Parameters& parameters, float factor = 0.5F);

// "<name>.weight" and "<name>.bias".
inline nn::Dense add_dense(nn::Parameters& to, const std::string& name, std::int64_t in, std::int64_t out) {
  return {.w = to.matrix(name + ".weight", out, in), .b = to.vector(name + ".bias", out)};
}
inline nn::Norm add_norm(nn::Parameters& to, const std::string& name, std::int64_t width, bool centered = true) {
  nn::Norm norm{.weight = to.vector(name + ".weight", width), .bias = {}, .centered = centered};
  if (centered) norm.bias = to.vector(name + ".bias", width);
  return norm;
}

// Width 12.
inline nn::AttentionConfig small_attention(std::int64_t heads = 2, std::int64_t key_heads = 0) {
  return {.width = 12, .heads = heads, .key_heads = key_heads};
}

// Layers read their numbers as "<name>.weight" and "<name>.bias"; the bias may be missing.
Table exact_dense(const Numbers& from, const std::string& name, const Table& x);
Table exact_norm(const Numbers& from, const std::string& name, const Table& x, const nn::Norm& how);
// Drops the same numbers as nn::drop.
Table exact_drop(Table x, const Dropout& dropout);

// Concatenated sequences. For self-attention, memory is x.
struct ExactAttentionIn {
  const Table &x, &memory;
  std::span<const std::int64_t> starts, memory_starts;
};
struct ExactAttention {
  Table y;
  std::vector<std::vector<double>> weights;  // [H, N, M] of each sequence, before dropout
};
// Names are those of nn::add_attention.
ExactAttention exact_attention(const Numbers& from, const std::string& name, const nn::AttentionConfig& config,
                               const ExactAttentionIn& in, const Dropout& dropout);

// "<name>up", "<name>down" and, if it exists, "<name>gate".
Table exact_feed(const Numbers& from, const std::string& name, nn::Activation f, const Table& x);

// Parts are "<name>self.", "<name>cross.", and those of exact_feed; norms "<name>self_norm", "<name>cross_norm" and
// "<name>feed_norm", which are like `norm`.
struct ExactBlock {
  std::string name;
  nn::BlockConfig config;
  nn::Norm norm;
  bool cross = false;
};
Table exact_block(const Numbers& from, const ExactBlock& block, const ExactAttentionIn& in, const nn::LearnPass& pass);

void add_gradients(Numbers& to, const nn::Parameters& parameters);
// Compares gradients with finite differences of loss(numbers), by name. Errors are relative to the largest number of
// the same gradient or, if that is only rounding error (as for the bias of keys, which the softmax cancels), to a
// twentieth of the largest of all.
void expect_slopes(Numbers numbers, const std::function<double(const Numbers&)>& loss, const Numbers& got);

double product(const Table& a, const Table& b);  // <a, b>
// The largest difference, relative to the largest expected number, or to `least` if that is larger.
double distance(const Table& got, const Table& want, double least = 0);

}  // namespace attn::test
