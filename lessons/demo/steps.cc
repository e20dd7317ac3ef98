// Attention in five parts, in C++.
#include <attn/attn.h>

#include <cmath>
#include <vector>

#include "../numbers.h"
#include "nn/infer/numpy_random.h"

namespace {

constexpr std::int64_t kN = 5, kWidth = 8;
using Numbers = std::vector<float>;

Numbers normal(attn::nn::NumpyRandom& random, std::size_t count, float factor) {
  Numbers out(count);
  for (float& number : out) number = static_cast<float>(random.normal()) * factor;
  return out;
}

Numbers product(const Numbers& x, const Numbers& w) {
  Numbers out(kN * kWidth);
  for (std::int64_t i = 0; i < kN; ++i)
    for (std::int64_t t = 0; t < kWidth; ++t)
      for (std::int64_t j = 0; j < kWidth; ++j) out[i * kWidth + j] += x[i * kWidth + t] * w[t * kWidth + j];
  return out;
}

struct Result {
  Numbers result, weights;
};

// Columns are cut into heads by strides alone: nothing is copied.
Result attend(const Numbers& q, const Numbers& k, const Numbers& v, std::int64_t heads, const attn::Mask& mask) {
  static attn::ThreadPool pool;
  const std::int64_t d = kWidth / heads;
  const attn::Shape<4> shape = {1, heads, kN, d}, strides = {kN * kWidth, d, kWidth, 1};
  Result result{Numbers(kN * kWidth), Numbers(static_cast<std::size_t>(heads * kN * kN))};
  attn::Options options;
  options.mask = mask;
  const attn::Inputs in{attn::View(q.data(), shape, strides), attn::View(k.data(), shape, strides),
                        attn::View(v.data(), shape, strides)};
  attn::attention(in, options, attn::View(result.result.data(), shape, strides), {},
                  attn::View(result.weights.data(), attn::Shape<4>{1, heads, kN, kN}), pool);
  return result;
}

}  // namespace

int main() {
  // [self]
  attn::nn::NumpyRandom random(42);
  const Numbers X = normal(random, kN * kWidth, 1);
  const Result alone = attend(X, X, X, 1, {});

  // [qkv]
  const float shrink = 1 / std::sqrt(static_cast<float>(kWidth));
  const Numbers W_q = normal(random, kWidth * kWidth, shrink), W_k = normal(random, kWidth * kWidth, shrink),
                W_v = normal(random, kWidth * kWidth, shrink);
  const Numbers Q = product(X, W_q), K = product(X, W_k), V = product(X, W_v);
  const Result projected = attend(Q, K, V, 1, {});

  // [causal]
  const Result causal = attend(Q, K, V, 1, attn::Causal{});

  // [heads]
  const Result heads = attend(Q, K, V, 4, {});

  // [picture]
  attn::nn::NumpyRandom again(42);
  Numbers rows(kN * kN);
  for (float& number : rows) number = static_cast<float>(again.uniform());
  for (std::int64_t i = 0; i < kN; ++i) {
    float sum = 0;
    for (std::int64_t j = 0; j < kN; ++j) sum += rows[i * kN + j];
    for (std::int64_t j = 0; j < kN; ++j) rows[i * kN + j] /= sum;
  }

  // []
  lesson::print({{"self_weights", {kN, kN}, alone.weights},
                 {"self_output", {kN, kWidth}, alone.result},
                 {"weights", {kN, kN}, projected.weights},
                 {"output", {kN, kWidth}, projected.result},
                 {"causal_weights", {kN, kN}, causal.weights},
                 {"causal_output", {kN, kWidth}, causal.result},
                 {"head_weights", {4, kN, kN}, heads.weights},
                 {"random_rows", {kN, kN}, rows}});
}
