// bench/engine/cpu_clock.h - the CPU time of this thread, which other processes on a shared machine hardly affect.
#pragma once

#include <ctime>

namespace bench {

inline double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace bench
