// Linear attention, in C++.
#include <attn/attn.h>

#include <cmath>
#include <vector>

#include "../numbers.h"
#include "nn/infer/numpy_random.h"

int main() {
  // [order]
  attn::nn::NumpyRandom random(42);
  std::vector<float> q(24), k(24), v(24);  // [6, 4] each
  for (auto* x : {&q, &k, &v})
    for (float& number : *x) number = static_cast<float>(random.normal());

  // [feature]
  const auto phi = [](float x) { return x > 0 ? x + 1 : std::exp(x); };

  // [state]
  const attn::Shape<4> shape = {1, 1, 6, 4};
  const attn::Inputs in{attn::View(q.data(), shape), attn::View(k.data(), shape), attn::View(v.data(), shape)};
  std::vector<float> result(24), causal(24), own(24);
  attn::ThreadPool pool;
  attn::linear_attention(in, {}, {result.data(), shape}, pool);

  // [same]
  std::vector<float> quadratic(24);
  for (int i = 0; i < 6; ++i) {
    float sum = 0;
    for (int j = 0; j < 6; ++j) {
      float share = 0;
      for (int t = 0; t < 4; ++t) share += phi(q[4 * i + t]) * phi(k[4 * j + t]);
      sum += share;
      for (int t = 0; t < 4; ++t) quadratic[4 * i + t] += share * v[4 * j + t];
    }
    for (int t = 0; t < 4; ++t) quadratic[4 * i + t] /= sum;
  }

  // [causal]
  attn::LinearOptions options;
  options.causal = true;
  attn::linear_attention(in, options, {causal.data(), shape}, pool);

  // [own]
  const attn::FeatureMap powers{.map =
                                    [](const float* x, float* to) {
                                      for (int t = 0; t < 4; ++t) {
                                        to[t] = std::exp(x[t]);
                                        to[4 + t] = std::exp(-x[t]);
                                      }
                                    },
                                .width = 8};
  options = {};
  options.map = &powers;
  attn::linear_attention(in, options, {own.data(), shape}, pool);

  // []
  lesson::print({{"output", {6, 4}, result},
                 {"quadratic_output", {6, 4}, quadratic},
                 {"causal_output", {6, 4}, causal},
                 {"own_output", {6, 4}, own}});
  return lesson::close(result, quadratic) ? 0 : 1;
}
