// server/store/comparisons.h - pairs of exhibits beside each other; a few are kept.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "attn/thread_pool.h"
#include "base/progress.h"
#include "insight/experiments/compare.h"
#include "server/jobs/shared_task.h"
#include "server/store/stored_recording.h"

namespace attn::server {

// Two exhibits, as tokens or as words, and what they have different.
struct Compared {
  std::shared_ptr<const StoredRecording> stored_a, stored_b;
  std::shared_ptr<const insight::AttentionTables> a, b;
  insight::Comparison found;
  std::shared_ptr<const insight::AttentionTables> aligned;  // A - B on the tokens that both have
  std::shared_ptr<const insight::AttentionTables> on_a;     // on all tokens of A: NaN where B has none
  std::string key;                                          // with which the names of all begin that is kept of it
};

struct Pair {
  std::shared_ptr<const StoredRecording> a, b;
  bool words = false;
};

// Any number of threads may use one.
class Comparisons {
 public:
  // Who asks for one that is being made waits for it (effort.h). Throws HttpError with status 409 where two cannot be
  // compared.
  std::shared_ptr<const Compared> get(const Pair& pair, ThreadPool& pool, const base::Progress& progress);

  // Lets go of all that this exhibit is part of.
  void forget(std::string_view stored);

 private:
  static constexpr std::size_t kMost = 4;
  struct Entry {
    std::string key;
    SharedTask task;
    std::shared_ptr<const Compared> recorded;
  };
  [[nodiscard]] std::shared_ptr<Entry> entry(const std::string& key);

  std::mutex mutex_;
  std::list<std::shared_ptr<Entry>> entries_;  // the latest in front
};

}  // namespace attn::server
