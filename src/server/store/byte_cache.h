// server/store/byte_cache.h - what was computed before, within a limit of bytes: what nobody asked for longest goes
// first.
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

// Any number of threads may use one.
class ByteCache {
 public:
  explicit ByteCache(std::int64_t limit) : limit_(limit) {}

  // What is kept under this key, else what `make` gives. Who asks for something that is being made waits for it; what
  // `make` throws reaches all who wait, and the next to ask tries again.
  Bytes get(const std::string& key, const std::function<std::string()>& make);
  // The same for long work: as SharedTask::join() has it.
  Bytes get(const std::string& key, const base::Progress& mine,
            const std::function<std::string(const base::Progress&)>& make);

  [[nodiscard]] std::int64_t bytes() const;  // that are kept

 private:
  struct Value {
    SharedTask task;
    Bytes bytes;
  };
  struct Entry {
    std::shared_ptr<Value> value;
    std::int64_t bytes = 0;  // 0: being made
    std::int64_t users = 0;  // who wait for it
    std::list<std::string>::iterator use;
  };
  [[nodiscard]] std::shared_ptr<Value> enter(const std::string& key);
  void leave(const std::string& key, const std::shared_ptr<Value>& value);

  const std::int64_t limit_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  std::list<std::string> uses_;  // keys, the latest in front
  std::int64_t bytes_ = 0;
};

}  // namespace attn::server
