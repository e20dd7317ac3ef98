// server/http/workers.h - one thread per connection, started on demand. Include it from .cc files only.
#pragma once

#include <httplib.h>

#include <functional>
#include <memory>

namespace attn::server {

// A connection keeps its thread while its client is slow or idle, so a few clients could exhaust a small fixed pool.
inline constexpr int kMostConnections = 512;  // further connections wait

// Idle threads end after a while. shutdown() does not wait for open connections: they end by themselves, and keep
// `owner`, which their work refers to, alive until then.
class Workers final : public httplib::TaskQueue {
 public:
  explicit Workers(std::shared_ptr<void> owner);

  void enqueue(std::function<void()> work) override;
  void shutdown() override;

 private:
  struct State;
  bool start_thread();  // requires the mutex
  static void serve(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace attn::server
