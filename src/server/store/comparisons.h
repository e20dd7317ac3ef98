// server/store/comparisons.h - comparisons of pairs of recordings; the latest few are kept.
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

// Two recordings, between tokens or words, and their comparison.
struct Compared {
  std::shared_ptr<const StoredRecording> stored_a, stored_b;
  std::shared_ptr<const insight::AttentionTables> a, b;
  insight::Comparison found;
  std::shared_ptr<const insight::AttentionTables> aligned;  // A - B on the tokens that both have
  std::shared_ptr<const insight::AttentionTables> on_a;     // A - B on all tokens of A: NaN where B has none
  std::string key;                                          // prefix of everything that the byte cache keeps of it
};

struct Pair {
  std::shared_ptr<const StoredRecording> a, b;
  bool words = false;
};

// Thread-safe.
class Comparisons {
 public:
  // Callers that need the same pair share the work (SharedTask). Throws HttpError with status 409 if the two cannot be
  // compared.
  std::shared_ptr<const Compared> get(const Pair& pair, ThreadPool& pool, const base::Progress& progress);

  // Drops all comparisons with this recording.
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
  std::list<std::shared_ptr<Entry>> entries_;  // most recently used first
};

}  // namespace attn::server
