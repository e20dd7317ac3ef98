// Attention by hand, in C++.
#include <attn/attn.h>

#include <cmath>
#include <vector>

#include "../numbers.h"

int main() {
  // [library]
  const std::vector<float> q = {1, 0};                 // [1, 2]
  const std::vector<float> k = {1, 0, 0, 1, 1, 0};     // [3, 2]
  const std::vector<float> v = {10, 0, 0, 20, 30, 0};  // [3, 2]

  // [scores]
  std::vector<float> scores(3);
  for (int j = 0; j < 3; ++j) scores[j] = q[0] * k[2 * j] + q[1] * k[2 * j + 1];

  // [scale]
  std::vector<float> scaled = scores;
  for (float& score : scaled) score /= std::sqrt(2.0F);

  // [softmax]
  const attn::Shape<4> one = {1, 1, 1, 2}, three = {1, 1, 3, 2};
  const attn::Inputs in{attn::View(q.data(), one), attn::View(k.data(), three), attn::View(v.data(), three)};
  std::vector<float> result(2), weights(3);
  attn::ThreadPool pool;
  attn::attention(in, {}, {result.data(), one}, {}, {weights.data(), {1, 1, 1, 3}}, pool);

  // [output]
  std::vector<float> by_hand(2);
  for (int j = 0; j < 3; ++j)
    for (int d = 0; d < 2; ++d) by_hand[d] += weights[j] * v[2 * j + d];

  // []
  lesson::print({{"scores", {1, 3}, scores},
                 {"scaled", {1, 3}, scaled},
                 {"weights", {1, 3}, weights},
                 {"output", {1, 2}, result}});
  return lesson::close(result, by_hand) ? 0 : 1;
}
