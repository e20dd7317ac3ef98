// Why divide by sqrt(d_k), in C++.
#include <attn/attn.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "../numbers.h"
#include "nn/infer/numpy_random.h"

namespace {

std::vector<float> randn(int count, attn::nn::NumpyRandom& random) {
  std::vector<float> out(count);
  for (float& number : out) number = static_cast<float>(random.normal());
  return out;
}

std::vector<float> softmax(std::vector<float> scores) {
  const float peak = *std::max_element(scores.begin(), scores.end());  // without it, exp(1000) would be infinite
  float sum = 0;
  for (float& score : scores) sum += score = std::exp(score - peak);
  for (float& score : scores) score /= sum;
  return scores;
}

}  // namespace

int main() {
  // [scaled]
  std::vector<float> scores = {1, 2, 100};
  for (float& score : scores) score /= std::sqrt(512.0F);
  const std::vector<float> calm = softmax(scores);  // softmax({1, 2, 100}) itself is 0, 0, 1

  // [example]
  attn::nn::NumpyRandom random(42);
  const std::vector<float> q = randn(512, random), k = randn(8 * 512, random);
  const attn::View<const float, 4> query(q.data(), {1, 1, 1, 512}), keys(k.data(), {1, 1, 8, 512});
  std::vector<float> out(512), weights(8), plain(8);
  attn::ThreadPool pool;
  attn::attention({query, keys, keys}, {}, {out.data(), {1, 1, 1, 512}}, {}, {weights.data(), {1, 1, 1, 8}}, pool);
  attn::Options unscaled;
  unscaled.scale = 1.0F;
  attn::attention({query, keys, keys}, unscaled, {out.data(), {1, 1, 1, 512}}, {}, {plain.data(), {1, 1, 1, 8}}, pool);

  // [overflow]
  const std::vector<float> high = softmax({1000, 1001, 1002});

  // []
  lesson::print({{"calm_weights", {1, 3}, calm},
                 {"weights", {1, 8}, weights},
                 {"plain_weights", {1, 8}, plain},
                 {"high_weights", {1, 3}, high}});
}
