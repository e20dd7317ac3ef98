#include "server/http/workers.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace attn::server {

struct Workers::State {
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> waiting;
  int threads = 0, idle = 0;
  bool ended = false;
  std::atomic<bool> crowded = false;
};

Workers::Workers() : state_(std::make_shared<State>()) {}

bool Workers::crowded() const noexcept { return state_->crowded; }

void Workers::enqueue(std::function<void()> work) {
  const std::scoped_lock lock(state_->mutex);
  state_->waiting.push_back(std::move(work));
  const bool enough = state_->idle >= std::ssize(state_->waiting) || state_->threads == kMostThreads;
  if (!enough && start_thread()) return;
  state_->crowded = std::ssize(state_->waiting) > state_->idle;
  state_->wake.notify_one();
}

// If the system has no more threads, work waits for a free one, as it does above the limit.
bool Workers::start_thread() {
  try {
    std::thread(serve, state_).detach();
  } catch (const std::system_error&) {
    return false;
  }
  ++state_->threads;
  return true;
}

void Workers::serve(const std::shared_ptr<State>& state) {
  constexpr std::chrono::seconds kIdle{5};
  std::unique_lock lock(state->mutex);
  while (true) {
    ++state->idle;
    const bool work = state->wake.wait_for(lock, kIdle, [&] { return state->ended || !state->waiting.empty(); });
    --state->idle;
    if (!work || state->waiting.empty()) break;
    std::function<void()> next = std::move(state->waiting.front());
    state->waiting.pop_front();
    state->crowded = std::ssize(state->waiting) > state->idle;
    lock.unlock();
    next();
    next = nullptr;
    lock.lock();
  }
  --state->threads;
}

void Workers::shutdown() {
  std::deque<std::function<void()>> dropped;  // outlives the lock: work may hold what takes time to destroy
  const std::scoped_lock lock(state_->mutex);
  dropped.swap(state_->waiting);
  state_->ended = true;
  state_->wake.notify_all();
}

}  // namespace attn::server
