// nn/learn/column_sums.h - sums over rows. For the sources of this folder only.
#pragma once

#include <cstdint>

#include "attn/thread_pool.h"
#include "attn/view.h"

namespace attn::nn {

// to[j] += sum_i x[i, j]. Blocks of 256 rows are summed separately and added in order: the same bits for any number of
// threads.
void add_column_sums(View<const float, 2> x, View<float, 1> to, ThreadPool& pool);

}  // namespace attn::nn
