// attn/thread_pool.h - a small thread pool, passed by reference.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace attn {

// Hands out numbered tasks to the calling thread and to helper threads.
//
//   - The caller works too. It never waits for a helper that has not woken up; it then does the work alone.
//   - Idle helpers spin for at most 50 microseconds, then sleep.
//   - One job at a time: run() from a second thread, or from inside a task, runs all of its tasks itself, as worker 0.
//   - Helpers use the caller's rounding and flush-to-zero mode, so the bits do not depend on which thread ran a task.
//   - After fork() the child has no helpers: run() runs all tasks itself.
class ThreadPool {
 public:
  // threads includes the caller: ThreadPool{1} has no helpers. 0 means default_threads(). Throws std::invalid_argument
  // below 0 and above 1024. If the system cannot create so many threads, there are fewer: see threads().
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int threads() const noexcept;

  // Calls task(t, worker) once for every t in [0, count), handed out in rising order, and returns when all are done.
  // worker, in [0, threads()), identifies the thread: no two tasks of one run() have the same at the same time. If one
  // throws, no more are handed out, and run() rethrows when those that run have ended: the exception of the lowest t.
  template <typename F>
  void run(std::int64_t count, F&& task) {
    using Task = std::remove_reference_t<F>;
    run_tasks(
        count, [](void* f, std::int64_t t, int worker) { (*static_cast<Task*>(f))(t, worker); },
        const_cast<void*>(static_cast<const void*>(std::addressof(task))));
  }

  // ATTNSCOPE_THREADS from the environment if it is a number from 1 to 1024; otherwise the number of cores that this
  // process may use by its affinity and the quota of its control group.
  static int default_threads();

 private:
  using Call = void (*)(void*, std::int64_t, int);
  struct State;

  void run_tasks(std::int64_t count, Call call, void* task);

  std::unique_ptr<State> state_;
};

}  // namespace attn
