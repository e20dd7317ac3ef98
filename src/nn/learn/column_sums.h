// nn/learn/column_sums.h - sums over rows. Only for the sources of this folder.
#pragma once

#include <cstdint>

#include "attn/thread_pool.h"
#include "attn/view.h"

namespace attn::nn {

// to[j] += sum_i x[i, j]. Blocks of 256 rows are summed for themselves and added in order: the same bits whatever the
// number of threads.
void add_column_sums(View<const float, 2> x, View<float, 1> to, ThreadPool& pool);

}  // namespace attn::nn
