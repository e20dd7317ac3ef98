// main.cc - masked attention over 4,096 tokens in O(N) memory, and one of its 16,777,216 weights, rebuilt.
#include <attn/attn.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

int main() {
  const std::int64_t tokens = 4096, width = 64;
  const attn::Shape<4> shape{1, 1, tokens, width};  // [B, H, N, D]

  // Token i points in a direction that turns slowly, so that it is most like its neighbours.
  std::vector<float> x(tokens * width), out(x.size()), lse(tokens);
  for (std::int64_t i = 0; i < tokens; ++i) {
    for (std::int64_t d = 0; d < width; d += 2) {
      const double angle = 0.05 * static_cast<double>(i) / static_cast<double>(1 + d);
      x[i * width + d] = static_cast<float>(std::cos(angle));
      x[i * width + d + 1] = static_cast<float>(std::sin(angle));
    }
  }

  attn::ThreadPool pool;
  attn::Options options;
  options.mask = attn::Causal{} & attn::Window{128};
  const attn::View<const float, 4> all(x.data(), shape);
  const attn::Inputs in{all, all, all};
  attn::attention(in, options, {out.data(), shape}, {lse.data(), {1, 1, tokens}}, pool);

  // The table was never stored: Q, K and one number a row, lse, are enough for any part of it.
  const std::int64_t query = 3000, key = 2990;
  float weight = 0;
  attn::weights(in, options, attn::View<const float, 3>(lse.data(), {1, 1, tokens}), {query, key},
                {&weight, {1, 1, 1, 1}}, pool);

  std::printf("mask    %s\n", options.mask.text().c_str());
  std::printf("output  %.4f %.4f ... of query %d\n", out[query * width], out[query * width + 1],
              static_cast<int>(query));
  std::printf("weight  %.5f of query %d on key %d\n", weight, static_cast<int>(query), static_cast<int>(key));
  std::printf("memory  %zu kB for the results; the table would be %zu kB\n", (out.size() + lse.size()) * 4 / 1024,
              static_cast<std::size_t>(tokens) * tokens * 4 / 1024);
}
