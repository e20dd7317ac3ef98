// Word by word, or all at once, in C++.
#include <attn/attn.h>

#include <cmath>
#include <vector>

#include "../numbers.h"

int main() {
  attn::ThreadPool pool;
  // [she]
  // person, male, female, thing, money
  const std::vector<float> keys = {2, 2, 0, 0,    0,   // 小明
                                   0, 0, 0, 0,    0,   // 把
                                   0, 0, 0, 2,    0,   // 苹果
                                   0, 0, 0, 0.5F, 0,   // 给了
                                   2, 0, 2, 0,    0,   // 小红
                                   0, 0, 0, 0,    0,   // ，
                                   1, 0, 1, 0,    0,   // 她
                                   0, 0, 0, 0,    0,   // 很
                                   1, 0, 0, 0,    0};  // 开心
  const std::vector<float> query = {2, 0, 2, 0, 0};
  const attn::View<const float, 4> q(query.data(), {1, 1, 1, 5}), k(keys.data(), {1, 1, 9, 5});
  std::vector<float> out(5), she(9);
  attn::attention({q, k, k}, {}, {out.data(), {1, 1, 1, 5}}, {}, {she.data(), {1, 1, 1, 9}}, pool);

  // [in-turn]
  const std::vector<float> x = {1, 0, 0.5F, 0.2F, 1, 0, 0, 0.8F, 0.6F, 0.9F, 0, 1};  // 我 喜欢 吃 苹果
  const float w[2][2] = {{0.5F, -0.3F}, {0.2F, 0.6F}}, u[3][2] = {{0.8F, 0.1F}, {-0.4F, 0.7F}, {0.3F, 0.5F}};
  std::vector<float> hidden, state = {0, 0};
  for (int i = 0; i < 4; ++i) {  // each step waits for the one before
    std::vector<float> next(2);
    for (int j = 0; j < 2; ++j) {
      for (int t = 0; t < 2; ++t) next[j] += state[t] * w[t][j];
      for (int t = 0; t < 3; ++t) next[j] += x[3 * i + t] * u[t][j];
      next[j] = std::tanh(next[j]);
    }
    hidden.insert(hidden.end(), next.begin(), next.end());
    state = next;
  }
  const attn::View<const float, 4> words(x.data(), {1, 1, 4, 3});  // all pairs at once
  std::vector<float> mixed(12), weights(16);
  attn::attention({words, words, words}, {}, {mixed.data(), {1, 1, 4, 3}}, {}, {weights.data(), {1, 1, 4, 4}}, pool);

  // [path]
  const float n = 32, d = 64;
  const std::vector<float> costs = {n, n - 1, n * d * d, 1, 1, n * n * d};  // steps, path, products

  // []
  lesson::print({{"she_weights", {1, 9}, she},
                 {"hidden", {4, 2}, hidden},
                 {"weights", {4, 4}, weights},
                 {"costs", {2, 3}, costs}});
}
