// server/http/workers.h - threads that answer requests, started on demand.
#pragma once

#include <functional>
#include <memory>

namespace attn::server {

// A request keeps its thread while its client reads the response, so a few slow clients could exhaust a small fixed
// pool.
inline constexpr int kMostThreads = 256;  // further requests wait

// Idle threads end after a while. shutdown() does not wait for work in progress, and drops work that has not begun.
class Workers {
 public:
  Workers();

  void enqueue(std::function<void()> work);
  void shutdown();
  // Whether work waits although all threads are in use.
  [[nodiscard]] bool crowded() const noexcept;

 private:
  struct State;
  bool start_thread();  // requires the mutex
  static void serve(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace attn::server
