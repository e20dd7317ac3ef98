// Positions, in C++.
#include <attn/attn.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "../numbers.h"
#include "nn/infer/numpy_random.h"
#include "nn/infer/rope.h"

int main() {
  attn::ThreadPool pool;
  // [order]
  const std::vector<float> x = {1, 0, 0.5F, 0.2F, 0, 1, 0.3F, 0.8F, 0.6F, 0.4F, 1, 0};  // 我 爱 你
  const attn::Shape<4> shape = {1, 1, 3, 4};
  const attn::View<const float, 4> view(x.data(), shape);
  std::vector<float> result(12);
  attn::attention({view, view, view}, {}, {result.data(), shape}, {}, pool);

  // [sinusoidal]
  constexpr int kPositions = 16, kWidth = 16;
  std::vector<float> waves;
  for (int p = 0; p < kPositions; ++p)
    for (int j = 0; j < kWidth; ++j) {
      const double angle = p / std::pow(10000.0, j / 2 * 2 / static_cast<double>(kWidth));
      waves.push_back(static_cast<float>(j % 2 == 0 ? std::sin(angle) : std::cos(angle)));
    }

  // [rope]
  attn::nn::NumpyRandom random(42);
  attn::nn::Matrix q(kPositions, kWidth), k(kPositions, kWidth);
  for (attn::nn::Matrix* rows : {&q, &k}) {
    for (int j = 0; j < kWidth; ++j) rows->data()[j] = static_cast<float>(random.normal());
    for (int i = kWidth; i < kPositions * kWidth; ++i) rows->data()[i] = rows->data()[i - kWidth];
  }
  std::vector<std::int64_t> positions(kPositions);
  std::iota(positions.begin(), positions.end(), 0);
  attn::nn::RopeTable turns(kPositions, kWidth / 2);
  turns.fill(0, positions, {.frequencies = attn::nn::rope_frequencies(10000, kWidth)});
  turns.turn(q.view(), 1, pool);  // each row as its position wants it
  turns.turn(k.view(), 1, pool);
  std::vector<float> dots;  // depend on j - i alone
  for (int i = 0; i < kPositions; ++i)
    for (int j = 0; j < kPositions; ++j)
      dots.push_back(std::inner_product(q.row(i), q.row(i) + kWidth, k.row(j), 0.0F));

  // [relative]
  const attn::DistanceBias bias = attn::alibi(8, {kPositions, kPositions});  // for Options::bias

  // []
  lesson::print({{"output", {3, 4}, result},
                 {"waves", {kPositions, kWidth}, waves},
                 {"rope_dots", {kPositions, kPositions}, dots}});
  return bias.view()(0, kPositions - 1) == 0 ? 0 : 1;
}
