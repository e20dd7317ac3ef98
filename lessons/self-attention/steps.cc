// Self-attention, in C++.
#include <attn/attn.h>

#include <cmath>
#include <vector>

#include "../numbers.h"
#include "nn/infer/numpy_random.h"

namespace {

using Table = std::vector<float>;

// a [n, m] times b [m, p]
Table product(const Table& a, const Table& b, int n, int m, int p) {
  Table out(n * p);
  for (int i = 0; i < n; ++i)
    for (int t = 0; t < m; ++t)
      for (int j = 0; j < p; ++j) out[i * p + j] += a[i * m + t] * b[t * p + j];
  return out;
}

Table randn(int count, attn::nn::NumpyRandom& random) {
  Table out(count);
  for (float& number : out) number = static_cast<float>(random.normal());
  return out;
}

}  // namespace

int main() {
  // [input]
  attn::nn::NumpyRandom random(42);  // the numbers of numpy.random.seed(42)
  const Table x = randn(3 * 4, random);

  // [project]
  const int d_k = 3;
  const Table w_q = randn(4 * d_k, random), w_k = randn(4 * d_k, random), w_v = randn(4 * d_k, random);
  const Table q = product(x, w_q, 3, 4, d_k), k = product(x, w_k, 3, 4, d_k), v = product(x, w_v, 3, 4, d_k);

  // [weights]
  const attn::Shape<4> shape = {1, 1, 3, d_k};
  const attn::Inputs in{attn::View(q.data(), shape), attn::View(k.data(), shape), attn::View(v.data(), shape)};
  Table result(3 * d_k), weights(3 * 3);
  attn::ThreadPool pool;
  attn::attention(in, {}, {result.data(), shape}, {}, {weights.data(), {1, 1, 3, 3}}, pool);

  // [output]
  const Table by_hand = product(weights, v, 3, 3, d_k);

  // [words]
  attn::nn::NumpyRandom again(42);
  const Table five = randn(5 * 5, again);
  const attn::View<const float, 4> same(five.data(), {1, 1, 5, 5});
  Table mixed(5 * 5), five_weights(5 * 5);
  attn::attention({same, same, same}, {}, {mixed.data(), {1, 1, 5, 5}}, {}, {five_weights.data(), {1, 1, 5, 5}}, pool);

  // []
  lesson::print({{"Q", {3, 3}, q},
                 {"K", {3, 3}, k},
                 {"V", {3, 3}, v},
                 {"weights", {3, 3}, weights},
                 {"output", {3, 3}, result},
                 {"five_weights", {5, 5}, five_weights}});
  return lesson::close(result, by_hand) ? 0 : 1;
}
