// Cross-attention, in C++.
#include <attn/attn.h>

#include <vector>

#include "../numbers.h"
#include "nn/infer/numpy_random.h"

namespace {

std::vector<double> normal(attn::nn::NumpyRandom& random, int count, double factor = 1) {
  std::vector<double> numbers(static_cast<std::size_t>(count));
  for (double& number : numbers) number = factor * random.normal();
  return numbers;
}

// x [rows, 256] times a random matrix.
std::vector<float> projected(const std::vector<double>& x, attn::nn::NumpyRandom& random) {
  const std::vector<double> w = normal(random, 256 * 256, 1 / 16.0);
  std::vector<float> out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    double sum = 0;
    for (std::size_t t = 0; t < 256; ++t) sum += x[i / 256 * 256 + t] * w[t * 256 + i % 256];
    out[i] = static_cast<float>(sum);
  }
  return out;
}

}  // namespace

int main() {
  // [two-lines]
  attn::nn::NumpyRandom random(42);
  const std::vector<double> encoder = normal(random, 2 * 20 * 256), decoder = normal(random, 2 * 10 * 256);
  const std::vector<float> q = projected(decoder, random), k = projected(encoder, random),
                           v = projected(encoder, random);

  // [shapes]
  // A head is a window on 64 of the 256 numbers; nothing is copied.
  const attn::Shape<4> target = {2, 4, 10, 64}, source = {2, 4, 20, 64};
  const attn::Shape<4> step = {10 * 256, 64, 256, 1}, source_step = {20 * 256, 64, 256, 1};
  const attn::View<const float, 4> queries(q.data(), target, step), keys(k.data(), source, source_step),
      values(v.data(), source, source_step);

  // [mask]
  attn::Options options;
  options.mask = attn::Padding({20, 13});  // real tokens of the two sources
  std::vector<float> context(2 * 10 * 256), weights(2 * 4 * 10 * 20), shown(weights.size());
  attn::ThreadPool pool;
  const attn::Shape<4> table = {2, 4, 10, 20};
  attn::attention({queries, keys, values}, options, {context.data(), target, step}, {}, {weights.data(), table}, pool);

  // [dropout]
  options.dropout = {.rate = 0.1F, .seed = 42};
  attn::attention({queries, keys, values}, options, {context.data(), target, step}, {}, {shown.data(), table}, pool);

  // []
  lesson::print({{"weights", {2, 4, 10, 20}, weights}});
  return shown == weights ? 0 : 1;
}
