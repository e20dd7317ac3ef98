// server/byte_cache.h - what was computed before, within a limit of bytes: what nobody asked for longest goes first.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace attn::server {

using Bytes = std::shared_ptr<const std::string>;

// Any number of threads may use one.
class ByteCache {
 public:
  explicit ByteCache(std::int64_t limit) : limit_(limit) {}

  // What is kept under this key, else what `make` gives. Who asks for something that is being made waits for it; what
  // `make` throws reaches all who wait, and the next to ask tries again.
  Bytes get(const std::string& key, const std::function<std::string()>& make);

  [[nodiscard]] std::int64_t bytes() const;  // that are kept

 private:
  struct Entry {
    std::shared_future<Bytes> value;
    std::int64_t bytes = 0;  // 0: being made
    std::list<std::string>::iterator use;
  };
  void keep(const std::string& key, std::int64_t bytes);

  const std::int64_t limit_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  std::list<std::string> uses_;  // keys, the latest in front
  std::int64_t bytes_ = 0;
};

}  // namespace attn::server
