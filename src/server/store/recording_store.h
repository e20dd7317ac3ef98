// server/store/recording_store.h - what questions are answered from: the exhibits, the models, and what was computed
// before.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "attn/thread_pool.h"
#include "base/progress.h"
#include "insight/tables/attention_tables.h"
#include "server/jobs/record.h"
#include "server/jobs/record_request.h"
#include "server/store/byte_cache.h"
#include "server/store/comparisons.h"
#include "server/store/models.h"
#include "server/store/stored_recording.h"

namespace attn::server {

// The pool may change from one request to the next.
using PoolOf = std::function<std::shared_ptr<ThreadPool>()>;

inline constexpr int kMostWork = 32;           // pieces of long work at once
inline constexpr std::int64_t kMostMade = 64;  // specimens that requests have made
inline constexpr std::int64_t kDefaultMemory = std::int64_t{1} << 30;

// What specimens are made from, and how much may be kept.
struct StoreOptions {
  std::vector<ModelSource> models = {};
  std::int64_t memory = kDefaultMemory;  // bytes of all recordings together
};

// Any number of threads may use one.
class RecordingStore {
 public:
  // At most `cache_bytes` of tiles and rows are kept. Throws as Models does.
  RecordingStore(PoolOf pool, std::int64_t cache_bytes, StoreOptions store = {});

  // Its id; it stays. What is no model's own recording is looked over at once, with `progress` in heads: throws
  // std::invalid_argument where a number is no weight.
  std::string add(std::string name, const std::shared_ptr<const insight::AttentionTables>& tables,
                  const base::Progress& progress = {});
  // Makes it, unless it was made before and is still there. `tell`: each token that is generated, with its number.
  // Throws as make() does, HttpError with status 413 for what does not fit into the memory, with 429 where too much is
  // being made.
  struct Order {
    RecordRequest record_request;
    base::Progress progress = {};
    std::function<void(std::int64_t step, const GeneratedStep&)> tell = {};
    bool stays = false;  // it is never let go
  };
  std::string make(const Order& order);
  // Throws HttpError with status 404.
  [[nodiscard]] std::shared_ptr<const StoredRecording> find(std::string_view id);
  [[nodiscard]] std::vector<std::shared_ptr<const StoredRecording>> recordings() const;

  // The model that an exhibit was made by. Throws HttpError with status 409 where there is none here.
  [[nodiscard]] std::shared_ptr<const model::Reader> reader_of(const StoredRecording& stored);

  // Long work holds one of these. Throws HttpError with status 429 where too many do.
  class Turn {
   public:
    explicit Turn(RecordingStore& store);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    std::atomic<int>& working_;
  };

  [[nodiscard]] std::shared_ptr<ThreadPool> pool() const { return pool_(); }
  [[nodiscard]] ByteCache& cache() noexcept { return cache_; }
  [[nodiscard]] Comparisons& comparisons() noexcept { return comparisons_; }
  // The page as one file, into which specimens are put (offline.h). Set before anybody asks.
  void show_on(std::string offline) { offline_ = std::move(offline); }
  [[nodiscard]] const std::string& offline() const noexcept { return offline_; }
  [[nodiscard]] Models& models() noexcept { return models_; }
  [[nodiscard]] int working() const noexcept { return working_; }
  [[nodiscard]] std::int64_t kept_bytes() const;  // of all recordings

 private:
  // What is being made for one or several.
  struct RunningTask {
    SharedTask task;
    std::mutex mutex;
    std::vector<GeneratedStep> steps;
    std::string id;
    std::int64_t reserved = 0;
  };
  struct StoredEntry {
    std::shared_ptr<const StoredRecording> stored;
    std::string key;  // of its recipe; empty: it has none
    std::uint64_t used = 0;
  };
  std::string put(std::shared_ptr<const StoredRecording> stored, std::string key);  // the mutex is held
  [[nodiscard]] std::string found(const std::string& key);                          // likewise; empty: not there
  void name_model(Provenance& from, const std::string& name);
  [[nodiscard]] Provenance provenance(const insight::AttentionTables& tables);
  void work(RunningTask& task, const Order& order, const std::string& key, const base::Progress& progress);
  void reserve(RunningTask& task, std::int64_t bytes);
  void let_go(const std::string& newest);  // the mutex is held

  PoolOf pool_;
  ByteCache cache_;
  Comparisons comparisons_;
  std::string offline_;
  Models models_;
  const std::int64_t memory_;
  std::atomic<int> working_ = 0;
  mutable std::mutex mutex_;
  std::int64_t named_ = 0;     // ids that were given
  std::int64_t reserved_ = 0;  // bytes of what is being made
  std::uint64_t uses_ = 0;
  std::vector<StoredEntry> entries_;
  std::map<std::string, std::shared_ptr<RunningTask>> running_;  // by key
};

}  // namespace attn::server
