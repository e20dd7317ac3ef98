#include "nn/learn/column_sums.h"

#include <algorithm>

#include "engine/kernels/rows/row_backward.h"
#include "nn/infer/product.h"
#include "nn/infer/split.h"

namespace attn::nn {

void add_column_sums(View<const float, 2> x, View<float, 1> to, ThreadPool& pool) {
  constexpr std::int64_t kBlock = 256;
  const std::int64_t blocks = divide_up(x.shape[0], kBlock), width = x.shape[1];
  float* const sums = reserve_scratch(Use::sums, blocks * width);
  split_rows(blocks, kBlock * width, pool, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t b = first; b < first + count; ++b) {
      std::fill_n(sums + b * width, width, 0.0F);
      const std::int64_t rows = std::min(kBlock, x.shape[0] - b * kBlock);
      kernels::add_columns({{x.at(b * kBlock), x.strides[0]}, rows, width, sums + b * width});
    }
  });
  kernels::add_columns({{sums, width}, blocks, width, to.data});
}

}  // namespace attn::nn
