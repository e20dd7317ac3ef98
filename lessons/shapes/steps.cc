// Shapes, in C++: heads are cut out of a row by strides, and nothing is moved.
#include <attn/attn.h>

#include <cmath>
#include <vector>

#include "../numbers.h"
#include "nn/infer/numpy_random.h"

namespace {

using Table = std::vector<float>;

Table randn(int count, float scale, attn::nn::NumpyRandom& random) {
  Table out(count);
  for (float& number : out) number = static_cast<float>(random.normal()) * scale;
  return out;
}

// a [n, m] times b [m, p]
Table product(const Table& a, const Table& b, int n, int m, int p) {
  Table out(n * p);
  for (int i = 0; i < n; ++i)
    for (int t = 0; t < m; ++t)
      for (int j = 0; j < p; ++j) out[i * p + j] += a[i * m + t] * b[t * p + j];
  return out;
}

}  // namespace

int main() {
  // [letters]
  const int B = 2, N = 10, d_model = 512, h = 8, d_k = d_model / h;
  attn::nn::NumpyRandom random(42);
  const float scale = 1 / std::sqrt(static_cast<float>(d_model));
  const Table x = randn(B * N * d_model, 1, random), w_q = randn(d_model * d_model, scale, random),
              w_k = randn(d_model * d_model, scale, random), w_v = randn(d_model * d_model, scale, random),
              w_o = randn(d_model * d_model, scale, random);

  // [split]
  const Table q = product(x, w_q, B * N, d_model, d_model), k = product(x, w_k, B * N, d_model, d_model),
              v = product(x, w_v, B * N, d_model, d_model);
  const attn::Shape<4> shape = {B, h, N, d_k}, strides = {N * d_model, d_k, d_model, 1};
  const auto split = [&](const Table& rows) { return attn::View<const float, 4>(rows.data(), shape, strides); };

  // [heads]
  Table joined(B * N * d_model), weights(B * h * N * N);
  attn::ThreadPool pool;
  attn::attention({split(q), split(k), split(v)}, {}, attn::View<float, 4>(joined.data(), shape, strides), {},
                  {weights.data(), {B, h, N, N}}, pool);
  const Table result = product(joined, w_o, B * N, d_model, d_model);

  // []
  Table start;
  for (int i = 0; i < N; ++i) start.insert(start.end(), &result[i * d_model], &result[i * d_model + 8]);
  lesson::print({{"head_weights", {10, 10}, {weights.begin(), weights.begin() + N * N}},
                 {"output_start", {10, 8}, start},
                 {"output_shape", {3}, {B, N, d_model}}});
}
