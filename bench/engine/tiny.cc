// bench/engine/tiny.cc - latency of a call with very little to compute: 12 heads of 16 tokens, D = 64.
//
// Prints JSON: median and 90th percentile in microseconds, with one thread, with a helper that is awake, and with a
// helper whose core is kept busy by another process. The caller must never wait for such a helper.

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "attn/thread_pool.h"
#include "bench/engine/latency.h"
#include "bench/engine/problem.h"

namespace {

// Limits this process and its children to the first two cores of its affinity. Returns false if there is only one.
bool keep_to_two_cores() {
  cpu_set_t allowed, two;
  CPU_ZERO(&two);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) < 2; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &two);
  }
  return CPU_COUNT(&two) == 2 && sched_setaffinity(0, sizeof two, &two) == 0;
}

// A process that keeps a core busy as long as this object lives.
class BusyNeighbour {
 public:
  BusyNeighbour() : child_(fork()) {
    if (child_ != 0) return;
    std::atomic<unsigned> spins{0};
    for (;;) spins.fetch_add(1, std::memory_order_relaxed);
  }
  ~BusyNeighbour() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  BusyNeighbour(const BusyNeighbour&) = delete;
  BusyNeighbour& operator=(const BusyNeighbour&) = delete;

 private:
  pid_t child_;
};

bench::Latency measure(int threads, int calls) {
  bench::Problem problem({1, 12, 16, 64});
  attn::ThreadPool pool(threads);
  const attn::Options options;
  return bench::latency(calls, [&] { problem.attend(options, pool); });
}

void print(const char* name, const bench::Latency& l, const char* end) {
  std::printf("  \"%s\": {\"median_us\": %.2f, \"p90_us\": %.2f}%s\n", name, l.median_us, l.p90_us, end);
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  const int calls = quick ? 2'000 : 50'000;
  const bool two_cores = keep_to_two_cores();
  const bench::Latency alone = measure(1, calls);
  std::printf("{\n");
  if (two_cores) {
    print("warm_helper", measure(2, calls), ",");
    std::fflush(stdout);  // otherwise the child would print these lines too
    const BusyNeighbour neighbour;
    print("busy_neighbour", measure(2, calls), ",");
  }
  print("one_thread", alone, "");
  std::printf("}\n");
}
