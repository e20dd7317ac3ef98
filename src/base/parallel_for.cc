#include "base/parallel_for.h"

#include <algorithm>
#include <exception>
#include <mutex>

namespace attn::base {

void parallel_for(std::int64_t count, const Progress& progress, ThreadPool& pool,
                  const std::function<void(std::int64_t)>& work) {
  const std::int64_t step = std::int64_t{8} * pool.threads();  // few: frequent progress; enough to keep threads busy
  for (std::int64_t from = 0; from < count; from += step) {
    tell(progress, from, count);
    std::mutex mutex;
    std::exception_ptr thrown;
    std::int64_t by = 0;  // the lowest n that failed, whichever thread was faster
    pool.run(std::min(step, count - from), [&](std::int64_t t, int) {
      try {
        work(from + t);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (thrown && by < t) return;
        thrown = std::current_exception();
        by = t;
      }
    });
    if (thrown) std::rethrow_exception(thrown);
  }
  tell(progress, count, count);
}

}  // namespace attn::base
