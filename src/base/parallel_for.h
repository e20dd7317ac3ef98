// base/parallel_for.h - work that is done head by head, a head a thread.
#pragma once

#include <cstdint>
#include <functional>

#include "attn/thread_pool.h"
#include "base/progress.h"

namespace attn::base {

// Calls work(n) once for every n in [0, count), each on one thread, and tells `progress` in between. What work throws
// is thrown again here, once the heads that were begun are done: of several failures that of the first head.
void parallel_for(std::int64_t count, const Progress& progress, ThreadPool& pool,
                  const std::function<void(std::int64_t)>& work);

}  // namespace attn::base
