// Speed, in C++.
#include <attn/attn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "../numbers.h"
#include "nn/infer/numpy_random.h"

int main() {
  attn::ThreadPool pool;
  // [race]
  const attn::Shape<4> shape = {8, 1, 1024, 64};
  std::vector<float> x(8 * 1024 * 64), out(x.size());
  attn::nn::NumpyRandom random(42);
  for (float& number : x) number = static_cast<float>(random.normal());
  const attn::View<const float, 4> view(x.data(), shape);
  const auto seconds = [&](auto&& attend) {
    attend();  // the first run does not count
    const auto start = std::chrono::steady_clock::now();
    for (int run = 0; run < 3; ++run) attend();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 3;
  };
  const double fused = seconds([&] { attn::attention({view, view, view}, {}, {out.data(), shape}, {}, pool); });
  const double linear = seconds([&] { attn::linear_attention({view, view, view}, {}, {out.data(), shape}, pool); });

  // [parts]
  const std::vector<float> scores = {1, 3, 2, 5, 0, 4}, values = {10, 20, 30, 40, 50, 60};
  float peak = -INFINITY, sum = 0, mixed = 0;
  std::vector<float> kept;
  for (std::size_t first = 0; first < scores.size(); first += 2) {
    const float highest = std::max({peak, scores[first], scores[first + 1]});
    const float shrink = std::exp(peak - highest);
    sum *= shrink;
    mixed *= shrink;
    peak = highest;
    for (std::size_t j = first; j < first + 2; ++j) {
      sum += std::exp(scores[j] - peak);
      mixed += std::exp(scores[j] - peak) * values[j];
    }
    kept.insert(kept.end(), {peak, sum, mixed, mixed / sum});
  }

  // []
  lesson::print({{"kept", {3, 4}, kept}});
  return fused > 0 && linear > 0 ? 0 : 1;
}
