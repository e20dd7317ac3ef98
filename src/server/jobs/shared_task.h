// server/jobs/shared_task.h - work that several requests wait for: done once, and cancelled when the last of them
// leaves.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "base/progress.h"

namespace attn::server {

// Thrown inside work that no request waits for any more.
struct Cancelled {};

class SharedTask {
 public:
  using Work = std::function<void(const base::Progress& progress)>;

  // Returns when the work is done. The first caller does it on its own thread; the others wait. Each caller's `mine` is
  // called now and then. If it throws, that caller leaves with the exception; the work continues while another caller
  // waits, and otherwise ends, and the next caller starts it again. An exception from the work reaches all callers.
  void join(const base::Progress& mine, const Work& work);

  [[nodiscard]] bool done() const;

 private:
  struct Attempt;
  void lead(const std::shared_ptr<Attempt>& attempt, const base::Progress& mine, const Work& work);
  void follow(std::unique_lock<std::mutex>& lock, const base::Progress& mine);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Attempt> attempt_;  // in progress; null: none
  bool done_ = false;
};

}  // namespace attn::server
