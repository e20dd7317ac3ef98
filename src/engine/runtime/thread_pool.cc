// engine/runtime/thread_pool.cc - the two protocols of the pool: the gate, through which helpers enter and leave a job,
// and sleep/wake of the workers (Bed).
#include "attn/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/runtime/cpu_count.h"
#include "engine/runtime/cpu_wait.h"
#include "engine/runtime/process.h"

namespace attn {
namespace {

constexpr int kMaxThreads = 1024;
constexpr auto kSpin = std::chrono::microseconds(50);
// After this long, a spinning thread yields its core. With two busy processes on two cores, 12 tasks of 1 us then take
// 12 us (90th percentile) instead of 64, because the thread waited for often needs that very core.
constexpr auto kGreedySpin = std::chrono::microseconds(5);
// Each thread wakes two others, which wake two more: a large pool is awake after log(threads) steps, and the caller
// pays for two.
constexpr int kWakes = 2;

// The gate is one word: the number of helpers inside, whether more may enter, whether the caller sleeps until all are
// out, whether the pool ends, and in the upper bits the number of the job. A helper enters by a compare-and-swap of the
// whole word, so that it cannot enter a job that has been closed.
constexpr std::uint64_t kInside = 0xffff;
constexpr std::uint64_t kOpen = 1u << 16;
constexpr std::uint64_t kCallerSleeps = 1u << 17;
constexpr std::uint64_t kStop = 1u << 18;
constexpr std::uint64_t kJob = std::uint64_t{1} << 32;

constexpr std::uint64_t job_of(std::uint64_t gate) { return gate / kJob; }

// Spins until ready() is true, at most for kSpin. Returns whether it became true.
template <typename Ready>
bool spin_until(const Ready& ready) {
  constexpr int kPausesBetweenClocks = 16;
  const auto start = std::chrono::steady_clock::now();
  for (auto now = start; now < start + kSpin; now = std::chrono::steady_clock::now()) {
    if (now > start + kGreedySpin) std::this_thread::yield();
    for (int i = 0; i < kPausesBetweenClocks; ++i) {
      if (ready()) return true;
      cpu_pause();
    }
  }
  return ready();
}

int checked_threads(int threads) {
  if (threads < 0 || threads > kMaxThreads)
    throw std::invalid_argument("ThreadPool: " + std::to_string(threads) + " threads; pass 1 to " +
                                std::to_string(kMaxThreads) + ", or 0 for as many as there are cores");
  return threads == 0 ? ThreadPool::default_threads() : threads;
}

}  // namespace

struct ThreadPool::State {
  // 1 while its owner sleeps or is about to. The thread that sets it back to 0 also decrements `sleepers`.
  struct alignas(64) Bed {
    std::atomic<std::uint32_t> taken{0};
  };

  explicit State(int n) : threads(n), beds(static_cast<std::size_t>(n)) {}

  void start();
  void stop() noexcept;
  void serve(int worker) noexcept;
  [[nodiscard]] bool worth_a_look(std::uint64_t g, std::uint64_t served) const noexcept {
    return (g & kStop) != 0 || ((g & kOpen) != 0 && job_of(g) != served);
  }
  void sleep(int worker, std::uint64_t served) noexcept;
  void wake(std::int64_t at_most) noexcept;
  void work(int worker) noexcept;
  void fail(std::int64_t t) noexcept;
  void leave() noexcept;
  void close() noexcept;

  int threads;  // fewer than asked for if the system has no more
  const unsigned forks = fork_count();
  std::vector<Bed> beds;  // [0] is the caller's; it sleeps only while helpers finish their last tasks
  std::vector<std::thread> helpers;

  alignas(64) std::atomic<bool> busy{false};

  alignas(64) std::atomic<std::uint64_t> gate{0};
  std::atomic<int> sleepers{0};

  // The job. Written only while the gate is shut and no helper is inside.
  alignas(64) std::atomic<std::int64_t> next{0};
  std::int64_t count = 0;
  Call call = nullptr;
  void* task = nullptr;
  FloatMode mode{};

  std::mutex failing;
  std::exception_ptr thrown;  // by the lowest task that failed
  std::int64_t thrown_by = 0;
};

void ThreadPool::State::start() {
  const SignalsBlocked blocked;
  helpers.reserve(static_cast<std::size_t>(threads - 1));
  try {
    for (int worker = 1; worker < threads; ++worker) helpers.emplace_back([this, worker] { serve(worker); });
  } catch (const std::exception&) {  // the system cannot create more threads, or has no memory for them
    threads = 1 + static_cast<int>(helpers.size());
  }
}

void ThreadPool::State::stop() noexcept {
  gate.fetch_or(kStop);
  for (auto& bed : beds)
    if (bed.taken.exchange(0) != 0) wake_one(bed.taken);
  for (auto& helper : helpers) helper.join();
}

void ThreadPool::State::serve(int worker) noexcept {
  std::uint64_t served = 0;
  for (;;) {
    std::uint64_t g = gate.load(std::memory_order_relaxed);
    const auto look = [&] { return worth_a_look(g = gate.load(std::memory_order_relaxed), served); };
    if (!spin_until(look)) {
      sleep(worker, served);
      continue;
    }
    if ((g & kStop) != 0) return;
    if (!gate.compare_exchange_weak(g, g + 1, std::memory_order_acquire, std::memory_order_relaxed)) continue;
    served = job_of(g);
    wake(count - next.load(std::memory_order_relaxed));
    const FloatMode own = float_mode();
    set_float_mode(mode);
    work(worker);
    set_float_mode(own);
    leave();
  }
}

// The order matters, here and in run_tasks. This function announces the sleeper and then reads the gate; the caller
// opens the gate and then reads the sleepers. So at least one of them sees the other.
void ThreadPool::State::sleep(int worker, std::uint64_t served) noexcept {
  auto& taken = beds[static_cast<std::size_t>(worker)].taken;
  sleepers.fetch_add(1);
  taken.store(1);
  if (worth_a_look(gate.load(), served)) {
    if (taken.exchange(0) != 0) sleepers.fetch_sub(1);
    return;
  }
  while (taken.load(std::memory_order_acquire) != 0) wait_while(taken, 1);
}

void ThreadPool::State::wake(std::int64_t at_most) noexcept {
  auto left = std::min<std::int64_t>(at_most, kWakes);
  for (std::size_t i = 1; i < beds.size() && left > 0 && sleepers.load() > 0; ++i) {
    auto& taken = beds[i].taken;
    if (taken.load(std::memory_order_relaxed) == 0 || taken.exchange(0) == 0) continue;
    sleepers.fetch_sub(1);
    wake_one(taken);
    --left;
  }
}

void ThreadPool::State::work(int worker) noexcept {
  const auto claim = [this] { return next.fetch_add(1, std::memory_order_relaxed); };
  const std::int64_t end = count;
  for (std::int64_t t = claim(); t < end; t = claim()) {
    try {
      call(task, t, worker);
    } catch (...) {
      fail(t);
    }
  }
}

// Ends the job after the tasks that run now. Those below `t` have all been handed out before it, so that the exception
// of the lowest one does not depend on which thread is faster.
void ThreadPool::State::fail(std::int64_t t) noexcept {
  next.store(count, std::memory_order_relaxed);
  const std::scoped_lock lock(failing);
  if (thrown && thrown_by < t) return;
  thrown = std::current_exception();
  thrown_by = t;
}

void ThreadPool::State::leave() noexcept {
  const auto before = gate.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & kInside) != 1 || (before & kCallerSleeps) == 0) return;
  auto& taken = beds[0].taken;
  taken.store(0, std::memory_order_release);
  wake_one(taken);
}

// Shuts the gate, then waits for the helpers inside. They are awake and on their last task, but the system may have
// suspended them, so a long wait becomes a sleep.
void ThreadPool::State::close() noexcept {
  if ((gate.fetch_and(~kOpen, std::memory_order_acq_rel) & kInside) == 0) return;
  if (spin_until([&] { return (gate.load(std::memory_order_acquire) & kInside) == 0; })) return;
  auto& taken = beds[0].taken;
  taken.store(1, std::memory_order_relaxed);
  if ((gate.fetch_or(kCallerSleeps, std::memory_order_acq_rel) & kInside) != 0)
    while (taken.load(std::memory_order_acquire) != 0) wait_while(taken, 1);
}

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>(checked_threads(threads))) { state_->start(); }

ThreadPool::~ThreadPool() {
  if (state_->forks == fork_count())
    state_->stop();
  else  // a child process: the threads exist only in its parent and can be neither joined nor detached here
    static_cast<void>(state_.release());
}

int ThreadPool::threads() const noexcept { return state_->threads; }

void ThreadPool::run_tasks(std::int64_t count, Call call, void* task) {
  State& s = *state_;
  const bool alone = count < 2 || s.threads == 1 || s.forks != fork_count();
  if (alone || s.busy.load(std::memory_order_relaxed) || s.busy.exchange(true, std::memory_order_acquire)) {
    for (std::int64_t t = 0; t < count; ++t) call(task, t, 0);
    return;
  }
  s.next.store(0, std::memory_order_relaxed);
  s.count = count;
  s.call = call;
  s.task = task;
  s.mode = float_mode();
  s.gate.store((job_of(s.gate.load(std::memory_order_relaxed)) + 1) * kJob | kOpen);
  if (s.sleepers.load() > 0) s.wake(count - 1);
  s.work(0);
  s.close();
  const std::exception_ptr thrown = std::exchange(s.thrown, nullptr);
  s.busy.store(false, std::memory_order_release);
  if (thrown) std::rethrow_exception(thrown);
}

int ThreadPool::default_threads() { return std::min(cpu_count(), kMaxThreads); }

}  // namespace attn
