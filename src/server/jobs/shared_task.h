// server/jobs/shared_task.h - work that several may wait for: it is done once, and given up only when nobody waits any
// more.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "base/progress.h"

namespace attn::server {

// Thrown inside work that nobody waits for any more.
struct Cancelled {};

class SharedTask {
 public:
  using Work = std::function<void(const base::Progress& progress)>;

  // Returns when the work is done. The first who comes does it, on its own thread; the others wait meanwhile. Each
  // one's `mine` is called now and then, and may throw: then this one leaves (with what it threw), and the work goes on
  // as long as another waits; else it ends, and whoever comes next begins again. What the work itself throws reaches
  // all who wait.
  void join(const base::Progress& mine, const Work& work);

  [[nodiscard]] bool done() const;

 private:
  struct Attempt;
  void lead(const std::shared_ptr<Attempt>& attempt, const base::Progress& mine, const Work& work);
  void follow(std::unique_lock<std::mutex>& lock, const base::Progress& mine);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Attempt> attempt_;  // that is being made; null: none
  bool done_ = false;
};

}  // namespace attn::server
