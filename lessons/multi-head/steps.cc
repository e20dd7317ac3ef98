// Many heads, in C++: heads are cut out of the rows by strides.
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

Table product(const Table& a, const Table& b) {  // [3, 8] times [8, 8]
  Table out(3 * 8);
  for (int i = 0; i < 3; ++i)
    for (int t = 0; t < 8; ++t)
      for (int j = 0; j < 8; ++j) out[i * 8 + j] += a[i * 8 + t] * b[t * 8 + j];
  return out;
}

}  // namespace

int main() {
  attn::ThreadPool pool;
  // [heads]
  const Table q = {2, 2, 2, 2}, k = {2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2};
  const Table v = {-0.5F, 0, 0, 0, 0, 0.9F, 0, 0, 0, 0, 0.4F, 0, 0, 0, 0, 0.8F};
  const attn::Shape<4> one = {1, 4, 1, 1}, four = {1, 4, 4, 1}, by_head = {0, 1, 4, 1};  // a head a column
  Table marks(4), shares(4 * 4);
  attn::attention(
      {attn::View(q.data(), one, by_head), attn::View(k.data(), four, by_head), attn::View(v.data(), four, by_head)},
      {}, attn::View(marks.data(), one, by_head), {}, {shares.data(), {1, 4, 1, 4}}, pool);

  // [layer]
  attn::nn::NumpyRandom random(42);
  const float scale = 1 / std::sqrt(8.0F);
  const Table x = randn(3 * 8, 1, random), w_q = randn(8 * 8, scale, random), w_k = randn(8 * 8, scale, random),
              w_v = randn(8 * 8, scale, random), w_o = randn(8 * 8, scale, random);
  const Table queries = product(x, w_q), keys = product(x, w_k), values = product(x, w_v);
  const attn::Shape<4> shape = {1, 4, 3, 2}, strides = {0, 2, 8, 1};  // four heads of two columns
  Table concat(3 * 8), weights(4 * 3 * 3);
  attn::attention({attn::View(queries.data(), shape, strides), attn::View(keys.data(), shape, strides),
                   attn::View(values.data(), shape, strides)},
                  {}, attn::View(concat.data(), shape, strides), {}, {weights.data(), {1, 4, 3, 3}}, pool);
  const Table result = product(concat, w_o);

  // []
  lesson::print({{"heads_weights", {4, 4}, shares},
                 {"heads_output", {1, 4}, marks},
                 {"weights", {4, 3, 3}, weights},
                 {"concat", {3, 8}, concat},
                 {"output", {3, 8}, result}});
}
