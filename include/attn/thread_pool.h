// attn/thread_pool.h - one small pool, passed by reference.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace attn {

// Hands out numbered tasks to the caller and its helpers.
//
//   - The caller works too. A helper that has not woken is never waited for: the caller then does the work alone.
//   - Helpers that have nothing to do spin for at most 50 microseconds, then sleep.
//   - One job at a time: run() from a second thread, or from inside a task, does all of its tasks itself, as worker 0.
//   - Helpers compute in the caller's rounding and flush-to-zero mode: the bits do not depend on who did a task.
//   - After fork() the child has no helpers: run() does all tasks itself.
class ThreadPool {
 public:
  // threads counts the caller: ThreadPool{1} has no helpers. 0 means default_threads(). Throws std::invalid_argument
  // below 0 and above 1024, std::system_error if the system has no more threads to give.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int threads() const noexcept;

  // Calls task(t, worker) once for every t in [0, count), in rising order of t as threads get free, and returns when
  // all are done. worker, in [0, threads()), is the caller's or the helper's own number: two tasks of one run() never
  // share it at the same time. A task must not throw.
  template <typename F>
  void run(std::int64_t count, F&& task) {
    using Task = std::remove_reference_t<F>;
    run_tasks(
        count, [](void* f, std::int64_t t, int worker) { (*static_cast<Task*>(f))(t, worker); },
        const_cast<void*>(static_cast<const void*>(std::addressof(task))));
  }

  // The environment's ATTNSCOPE_THREADS if it is a number from 1 to 1024, else the cores that this process may use, as
  // its affinity and the quota of its control group say.
  static int default_threads();

 private:
  using Call = void (*)(void*, std::int64_t, int);
  struct State;

  void run_tasks(std::int64_t count, Call call, void* task);

  std::unique_ptr<State> state_;
};

}  // namespace attn
