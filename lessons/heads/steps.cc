// What a layer's heads do, in C++.
#include <cmath>
#include <vector>

#include "../numbers.h"
#include "builtin/models.h"
#include "insight/statistics/statistics.h"
#include "nn/infer/numpy_random.h"

// softmax(randn(heads, n, n)), row by row.
static std::vector<float> random_heads(std::size_t heads, std::size_t n) {
  attn::nn::NumpyRandom random(42);
  std::vector<float> numbers(heads * n * n);
  for (float& score : numbers) score = static_cast<float>(random.normal());
  for (std::size_t row = 0; row < heads * n; ++row) {
    float sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += numbers[row * n + j] = std::exp(numbers[row * n + j]);
    for (std::size_t j = 0; j < n; ++j) numbers[row * n + j] /= sum;
  }
  return numbers;
}

int main() {
  // [grid]
  constexpr std::size_t kHeads = 8, kTokens = 5;
  const std::vector<float> attention = random_heads(kHeads, kTokens);  // [heads, N, N]

  // [entropy]
  std::vector<float> entropy(kHeads), received(kHeads * kTokens), outgoing(kHeads * kTokens), diagonal;
  for (std::size_t n = 0; n < attention.size(); ++n)
    entropy[n / (kTokens * kTokens)] -= attention[n] * std::log(attention[n]) / static_cast<float>(kTokens);

  // [received]
  for (std::size_t n = 0; n < attention.size(); ++n)
    received[n / (kTokens * kTokens) * kTokens + n % kTokens] += attention[n];

  // [outgoing]
  for (std::size_t n = 0; n < attention.size(); ++n) outgoing[n / kTokens] += attention[n];

  // [diagonal]
  for (std::size_t row = 0; row < kHeads * kTokens; ++row) diagonal.push_back(attention[row * kTokens + row % kTokens]);

  // [few]
  const std::vector<float> few = random_heads(4, 3);

  // [trained]
  attn::ThreadPool pool;
  const attn::model::Reader reader = attn::model::Reader::load(attn::builtin::folder_of("tiny-bert"));
  const attn::model::Text text{.text = "The cat sat on the mat.", .pair = {}, .target = {}};
  const attn::insight::RecordedTables tables(attn::model::read(reader, text, {}, pool));
  std::vector<float> trained_entropy;
  for (const auto& head : attn::insight::statistics(tables, {}, pool))
    if (head.name.layer == 1) trained_entropy.push_back(static_cast<float>(head.entropy));

  // []
  lesson::print({{"attention", {kHeads, kTokens, kTokens}, attention},
                 {"entropy", {kHeads}, entropy},
                 {"received", {kHeads, kTokens}, received},
                 {"outgoing", {kHeads, kTokens}, outgoing},
                 {"diagonal", {kHeads, kTokens}, diagonal},
                 {"few_attention", {4, 3, 3}, few},
                 {"trained_entropy", {trained_entropy.size()}, trained_entropy}});
}
