// server/http/workers.h - a thread for every connection, as many as are needed at the moment. For .cc files only.
#pragma once

#include <httplib.h>

#include <functional>
#include <memory>

namespace attn::server {

// A connection keeps its thread while its client is slow or idle, so a fixed pool could be used up by a few of them.
inline constexpr int kMostConnections = 512;  // others wait their turn

// Threads are let go after a while without work. shutdown() does not wait for connections that are open: they end by
// themselves, and keep `owner`, which their work refers to, alive until then.
class Workers final : public httplib::TaskQueue {
 public:
  explicit Workers(std::shared_ptr<void> owner);

  void enqueue(std::function<void()> work) override;
  void shutdown() override;

 private:
  struct State;
  bool start_thread();  // the mutex is held
  static void serve(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace attn::server
