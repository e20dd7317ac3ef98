#include "server/jobs/shared_task.h"

#include <chrono>
#include <exception>
#include <utility>

namespace attn::server {

struct SharedTask::Attempt {
  int others = 0;  // callers that wait, without the one that works
  std::int64_t done = 0, total = 0;
  bool ended = false;
  std::exception_ptr failure;  // thrown by the work itself
};

void SharedTask::join(const base::Progress& mine, const Work& work) {
  std::unique_lock lock(mutex_);
  while (!done_) {
    if (attempt_) {
      follow(lock, mine);
      continue;
    }
    const auto attempt = std::make_shared<Attempt>();
    attempt_ = attempt;
    lock.unlock();
    return lead(attempt, mine, work);
  }
}

bool SharedTask::done() const {
  const std::scoped_lock lock(mutex_);
  return done_;
}

void SharedTask::lead(const std::shared_ptr<Attempt>& attempt, const base::Progress& mine, const Work& work) {
  std::exception_ptr left;  // the exception with which the working caller wants to leave
  const auto progress = [&](std::int64_t done, std::int64_t total) {
    try {
      if (!left) base::tell(mine, done, total);
    } catch (...) {
      left = std::current_exception();
    }
    const std::scoped_lock lock(mutex_);
    attempt->done = done;
    attempt->total = total;
    changed_.notify_all();
    if (left && attempt->others == 0) std::rethrow_exception(left);
  };
  const auto end = [&](bool done, std::exception_ptr failure) {
    const std::scoped_lock lock(mutex_);
    done_ = done;
    attempt->failure = std::move(failure);
    attempt->ended = true;
    attempt_ = nullptr;
    changed_.notify_all();
  };
  try {
    work(progress);
  } catch (...) {
    end(false, left ? nullptr : std::current_exception());
    throw;
  }
  end(true, nullptr);
  if (left) std::rethrow_exception(left);
}

void SharedTask::follow(std::unique_lock<std::mutex>& lock, const base::Progress& mine) {
  constexpr std::chrono::milliseconds kLook{100};
  const std::shared_ptr<Attempt> attempt = attempt_;
  ++attempt->others;
  while (!attempt->ended) {
    changed_.wait_for(lock, kLook);
    const auto [done, total] = std::pair(attempt->done, attempt->total);
    lock.unlock();
    std::exception_ptr left;
    try {
      base::tell(mine, done, total);
    } catch (...) {
      left = std::current_exception();
    }
    lock.lock();
    if (!left) continue;
    --attempt->others;
    std::rethrow_exception(left);
  }
  --attempt->others;
  if (attempt->failure) std::rethrow_exception(attempt->failure);
}

}  // namespace attn::server
