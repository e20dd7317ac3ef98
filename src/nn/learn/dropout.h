// nn/learn/dropout.h - dropout of single numbers.
#pragma once

#include <cstdint>

#include "attn/attention.h"
#include "attn/thread_pool.h"
#include "attn/view.h"

namespace attn::nn {

// Each number is kept with probability 1 - rate and then divided by it; which ones depends on the seed and on its row,
// from first_query on, and column alone. The gradient goes back through the same call with the same Dropout. Rate 0: x
// stays as it is. Throws std::invalid_argument for a rate outside [0, 1).
void drop(View<float, 2> x, const Dropout& dropout, ThreadPool& pool);

}  // namespace attn::nn
