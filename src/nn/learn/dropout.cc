#include "nn/learn/dropout.h"

#include <stdexcept>
#include <string>

#include "engine/kernels/attention/dropout.h"
#include "engine/kernels/rows/training.h"
#include "engine/runtime/number_text.h"
#include "nn/infer/split.h"

namespace attn::nn {

void drop(View<float, 2> x, const Dropout& dropout, ThreadPool& pool) {
  if (!(dropout.rate >= 0 && dropout.rate < 1)) {
    throw std::invalid_argument("drop: a rate of " + number_text(dropout.rate) + "; it must be in [0, 1)");
  }
  if (dropout.rate == 0) return;
  kernels::DropoutHash hash = kernels::dropout_with(dropout.rate, kernels::mix64(dropout.seed));
  hash.first_row = dropout.first_query;
  split_rows(x.shape[0], x.shape[1] * 2, pool, [&](std::int64_t first, std::int64_t count) {
    kernels::drop({{x.at(first), x.strides[0]}, count, x.shape[1], first, hash});
  });
}

}  // namespace attn::nn
