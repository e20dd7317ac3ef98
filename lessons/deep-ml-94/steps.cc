// Deep-ML 94, in C++: heads are cut out of the rows by strides.
#include <attn/attn.h>

#include <vector>

#include "../numbers.h"

namespace {

using Table = std::vector<float>;

Table product(const Table& a, const Table& b) {  // [4, 4] times [4, 4]
  Table out(16);
  for (int i = 0; i < 4; ++i)
    for (int t = 0; t < 4; ++t)
      for (int j = 0; j < 4; ++j) out[i * 4 + j] += a[i * 4 + t] * b[t * 4 + j];
  return out;
}

}  // namespace

int main() {
  // [problem]
  const Table x = {0, 1, 5, 14, 13, 11, 8, 9, 2, 15, 4, 7, 10, 12, 3, 6};
  const Table w_q = {0, 1, 3, 3, 1, 1, 1, 3, 3, 0, 0, 3, 1, 1, 0, 3};
  const Table w_k = {0, 0, 2, 2, 1, 3, 3, 2, 3, 3, 0, 2, 4, 2, 4, 0};
  const Table w_v = {1, 3, 0, 3, 5, 1, 1, 0, 1, 4, 1, 3, 3, 3, 3, 4};

  // [project]
  const Table q = product(x, w_q), k = product(x, w_k), v = product(x, w_v);
  const attn::Shape<4> shape = {1, 2, 4, 2}, strides = {16, 2, 4, 1};  // two heads of two columns each
  const auto heads = [&](const Table& rows) { return attn::View<const float, 4>(rows.data(), shape, strides); };

  // [output]
  Table result(16), weights(2 * 4 * 4);
  attn::ThreadPool pool;
  attn::attention({heads(q), heads(k), heads(v)}, {}, attn::View<float, 4>(result.data(), shape, strides), {},
                  {weights.data(), {1, 2, 4, 4}}, pool);

  // []
  lesson::print({{"weights", {2, 4, 4}, weights}, {"output", {4, 4}, result}});
}
