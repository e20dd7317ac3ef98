// Deep-ML 53, in C++.
#include <attn/attn.h>

#include <vector>

#include "../numbers.h"

int main() {
  // [problem]
  const std::vector<float> x = {1, 0, 0, 1}, w_q = {1, 0, 0, 1}, w_k = {1, 0, 0, 1}, w_v = {1, 2, 3, 4};

  // [project]
  const auto product = [](const std::vector<float>& a, const std::vector<float>& b) {
    return std::vector<float>{a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],  //
                              a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
  };
  const std::vector<float> q = product(x, w_q), k = product(x, w_k), v = product(x, w_v);

  // [output]
  const attn::Shape<4> shape = {1, 1, 2, 2};
  const attn::Inputs in{attn::View(q.data(), shape), attn::View(k.data(), shape), attn::View(v.data(), shape)};
  std::vector<float> result(4), weights(4);
  attn::ThreadPool pool;
  attn::attention(in, {}, {result.data(), shape}, {}, {weights.data(), shape}, pool);

  // []
  lesson::print({{"Q", {2, 2}, q}, {"V", {2, 2}, v}, {"weights", {2, 2}, weights}, {"output", {2, 2}, result}});
}
