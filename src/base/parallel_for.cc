#include "base/parallel_for.h"

#include <algorithm>

namespace attn::base {

void parallel_for(std::int64_t count, const Progress& progress, ThreadPool& pool,
                  const std::function<void(std::int64_t)>& work) {
  const std::int64_t step = std::int64_t{8} * pool.threads();  // few: frequent progress; enough to keep threads busy
  for (std::int64_t from = 0; from < count; from += step) {
    tell(progress, from, count);
    pool.run(std::min(step, count - from), [&](std::int64_t t, int) { work(from + t); });
  }
  tell(progress, count, count);
}

}  // namespace attn::base
