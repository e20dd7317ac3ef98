#include "base/heap.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace attn::base {

void prefer_small_heap() noexcept {
#ifdef __GLIBC__
  // By default there are eight heaps per core, each with gaps of its own, and the threshold grows up to 32 MB.
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
#endif
}

void trim_heap() noexcept {
#ifdef __GLIBC__
  using Clock = std::chrono::steady_clock;
  static std::atomic<std::int64_t> next = 0;  // of Clock, in milliseconds
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch()).count();
  std::int64_t due = next;
  if (now >= due && next.compare_exchange_strong(due, now + 1000)) malloc_trim(0);
#endif
}

}  // namespace attn::base
