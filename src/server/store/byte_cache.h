// server/store/byte_cache.h - a cache of computed bytes with a limit; the least recently used go first.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/progress.h"
#include "server/jobs/shared_task.h"

namespace attn::server {

using Bytes = std::shared_ptr<const std::string>;

// Thread-safe.
class ByteCache {
 public:
  explicit ByteCache(std::int64_t limit) : limit_(limit) {}

  // The bytes under this key, made by `make` if they are missing. Callers that need the same key wait for one `make`;
  // an exception from it reaches all of them, and the next call tries again.
  Bytes get(const std::string& key, const std::function<std::string()>& make);
  // The same for long work; see SharedTask::join().
  Bytes get(const std::string& key, const base::Progress& mine,
            const std::function<std::string(const base::Progress&)>& make);

  // What an entry takes besides its bytes and its key, of which there are two copies. Rows of a short text are smaller.
  static constexpr std::int64_t kEntryBytes = 512;
  [[nodiscard]] std::int64_t bytes() const;  // in the cache, entries included

 private:
  struct Value {
    SharedTask task;
    Bytes bytes;
  };
  struct Entry {
    std::shared_ptr<Value> value;
    std::int64_t bytes = 0;  // 0: being made
    std::int64_t users = 0;  // callers that wait for it
    std::list<std::string>::iterator use;
  };
  [[nodiscard]] std::shared_ptr<Value> enter(const std::string& key);
  void leave(const std::string& key, const std::shared_ptr<Value>& value);

  const std::int64_t limit_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  std::list<std::string> uses_;  // keys, most recently used first
  std::int64_t bytes_ = 0;
};

}  // namespace attn::server
