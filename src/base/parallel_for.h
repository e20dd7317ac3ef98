// base/parallel_for.h - a parallel loop with progress and exceptions.
#pragma once

#include <cstdint>
#include <functional>

#include "attn/thread_pool.h"
#include "base/progress.h"

namespace attn::base {

// Calls work(n) once for every n in [0, count), distributed over the pool, and `progress` in between. If work throws,
// finishes the calls that have started and rethrows; of several exceptions, that of the lowest n.
void parallel_for(std::int64_t count, const Progress& progress, ThreadPool& pool,
                  const std::function<void(std::int64_t)>& work);

}  // namespace attn::base
