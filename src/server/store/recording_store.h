// server/store/recording_store.h - what routes work with: the recordings, the models, and the caches.
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
#include "server/store/user_files.h"

namespace attn::server {

// The pool may change from one request to the next.
using PoolOf = std::function<std::shared_ptr<ThreadPool>()>;

inline constexpr int kMostWork = 32;           // long tasks at once
inline constexpr std::int64_t kMostMade = 64;  // recordings made by requests
inline constexpr std::int64_t kDefaultMemory = std::int64_t{1} << 30;

// The models that make recordings, and the memory that recordings may take.
struct StoreOptions {
  std::vector<ModelSource> models = {};
  std::int64_t memory = kDefaultMemory;  // bytes of all recordings together
  std::int64_t first_id = 1;             // of the recordings that are numbered
};

// Thread-safe.
class RecordingStore {
 public:
  // Caches at most `cache_bytes` of map tiles and rows. Throws as Models does.
  RecordingStore(PoolOf pool, std::int64_t cache_bytes, StoreOptions store = {});

  // Adds a recording; returns its id: the next number, and then it is never evicted, or the one given, which replaces
  // an earlier recording of this id. Tables that are not a model's recording are checked at once, with `progress` in
  // heads: throws std::invalid_argument if a number is not a weight.
  std::string add(std::string name, const std::shared_ptr<const insight::AttentionTables>& tables,
                  const base::Progress& progress = {}, std::string id = {});
  // Makes a recording, unless an equal one is in the store; returns its id. `tell` receives each generated token with
  // its number. Throws as make() in jobs/record.h does, and HttpError with status 413 if the recording does not fit
  // into the memory, 429 if too many are being made.
  struct Order {
    RecordRequest record_request;
    base::Progress progress = {};
    std::function<void(std::int64_t step, const GeneratedStep&)> tell = {};
    bool stays = false;  // never evicted
  };
  std::string make(const Order& order);
  // Throws HttpError with status 404.
  [[nodiscard]] std::shared_ptr<const StoredRecording> find(std::string_view id);
  [[nodiscard]] std::vector<std::shared_ptr<const StoredRecording>> recordings() const;

  // The model that made a recording. Throws HttpError with status 409 if the server does not have it.
  [[nodiscard]] std::shared_ptr<const model::Reader> reader_of(const StoredRecording& stored);

  // Held by each long task. Throws HttpError with status 429 if there are too many.
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
  // Sets the page as one file, into which recordings are exported (offline.h). Call it before the first request.
  void show_on(std::string offline) { offline_ = std::move(offline); }
  [[nodiscard]] const std::string& offline() const noexcept { return offline_; }
  // Whether the microscope as one file can be downloaded: PageFiles::offer_app(). Call it before the first request.
  void offer_app(bool offered) noexcept { offers_app_ = offered; }
  [[nodiscard]] bool offers_app() const noexcept { return offers_app_; }
  [[nodiscard]] Models& models() noexcept { return models_; }
  [[nodiscard]] UserFiles& files() noexcept { return files_; }
  [[nodiscard]] int working() const noexcept { return working_; }
  [[nodiscard]] std::int64_t kept_bytes() const;  // of all recordings

 private:
  // A recording in progress, for one or several clients.
  struct RunningTask {
    SharedTask task;
    std::mutex mutex;
    std::vector<GeneratedStep> steps;
    std::string id;
    std::int64_t reserved = 0;
  };
  struct StoredEntry {
    std::shared_ptr<const StoredRecording> stored;
    std::string key;  // of its RecordRequest; empty: it has none
    std::uint64_t used = 0;
  };
  std::string put(std::shared_ptr<const StoredRecording> stored, std::string key);  // requires the mutex
  [[nodiscard]] std::string found(const std::string& key);  // requires the mutex; empty: not found
  void name_model(Provenance& from, const std::string& name);
  [[nodiscard]] Provenance provenance(const insight::AttentionTables& tables);
  void work(RunningTask& task, const Order& order, const std::string& key, const base::Progress& progress);
  void reserve(RunningTask& task, std::int64_t bytes);
  void evict(const std::string& newest);  // requires the mutex

  PoolOf pool_;
  ByteCache cache_;
  Comparisons comparisons_;
  std::string offline_;
  bool offers_app_ = false;
  Models models_;
  UserFiles files_;
  const std::int64_t memory_;
  std::atomic<int> working_ = 0;
  mutable std::mutex mutex_;
  std::int64_t named_;         // the last id assigned
  std::int64_t reserved_ = 0;  // bytes of recordings in progress
  std::uint64_t uses_ = 0;
  std::vector<StoredEntry> entries_;
  std::map<std::string, std::shared_ptr<RunningTask>> running_;  // by key
};

}  // namespace attn::server
