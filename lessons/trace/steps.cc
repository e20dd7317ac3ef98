// A trace, in C++.
#include <attn/attn.h>

#include <cmath>
#include <vector>

#include "../numbers.h"
#include "nn/infer/numpy_random.h"

namespace {

using Table = std::vector<float>;

// Rows of four numbers times a table of 4 x 4.
Table product(const Table& a, const Table& b) {
  Table out(a.size());
  for (std::size_t i = 0; i < a.size() / 4; ++i)
    for (int t = 0; t < 4; ++t)
      for (int j = 0; j < 4; ++j) out[i * 4 + j] += a[i * 4 + t] * b[t * 4 + j];
  return out;
}

Table randn(attn::nn::NumpyRandom& random) {
  Table out(4 * 4);
  for (float& number : out) number = static_cast<float>(random.normal());
  return out;
}

}  // namespace

int main() {
  // [input]
  const Table x = {1, 0, 1, 0, 0, 2, 0, 2, 1, 1, 1, 1};  // I, love, AI

  // [weights-of-the-layer]
  attn::nn::NumpyRandom random(42);
  const Table w_q = randn(random), w_k = randn(random), w_v = randn(random);

  // [project]
  const Table q = product(x, w_q), k = product(x, w_k), v = product(x, w_v);

  // [scores]
  Table scores(3 * 3);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      for (int t = 0; t < 4; ++t) scores[i * 3 + j] += q[i * 4 + t] * k[j * 4 + t];

  // [scaled]
  Table scaled = scores;
  for (float& score : scaled) score /= std::sqrt(4.0F);

  // [output]
  const attn::Shape<4> shape = {1, 1, 3, 4};
  const attn::Inputs in{attn::View(q.data(), shape), attn::View(k.data(), shape), attn::View(v.data(), shape)};
  Table result(3 * 4), weights(3 * 3);
  attn::ThreadPool pool;
  attn::attention(in, {}, {result.data(), shape}, {}, {weights.data(), {1, 1, 3, 3}}, pool);

  // []
  lesson::print({{"Q", {3, 4}, q},
                 {"K", {3, 4}, k},
                 {"V", {3, 4}, v},
                 {"scores", {3, 3}, scores},
                 {"scaled", {3, 3}, scaled},
                 {"weights", {3, 3}, weights},
                 {"output", {3, 4}, result}});
}
