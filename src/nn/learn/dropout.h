// nn/learn/dropout.h - dropout on activations.
#pragma once

#include <cstdint>

#include "attn/attention.h"
#include "attn/thread_pool.h"
#include "attn/view.h"

namespace attn::nn {

// Keeps each number with probability 1 - rate, divides it by 1 - rate, and sets the others to 0. The choice depends on
// the seed, the row (from first_query on) and the column alone. The gradient is the same call with the same Dropout.
// With rate 0, x stays unchanged. Throws std::invalid_argument for a rate outside [0, 1).
void drop(View<float, 2> x, const Dropout& dropout, ThreadPool& pool);

}  // namespace attn::nn
