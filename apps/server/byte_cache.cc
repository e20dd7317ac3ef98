#include "server/byte_cache.h"

#include <iterator>
#include <utility>

namespace attn::server {

Bytes ByteCache::get(const std::string& key, const std::function<std::string()>& make) {
  std::promise<Bytes> promise;
  {
    std::unique_lock lock(mutex_);
    if (const auto found = entries_.find(key); found != entries_.end()) {
      uses_.splice(uses_.begin(), uses_, found->second.use);
      const std::shared_future<Bytes> value = found->second.value;
      lock.unlock();
      return value.get();
    }
    uses_.push_front(key);
    entries_[key] = {promise.get_future().share(), 0, uses_.begin()};
  }
  try {
    auto made = std::make_shared<const std::string>(make());
    promise.set_value(made);
    keep(key, static_cast<std::int64_t>(made->size() + key.size()));
    return made;
  } catch (...) {
    promise.set_exception(std::current_exception());
    const std::scoped_lock lock(mutex_);
    const auto found = entries_.find(key);
    uses_.erase(found->second.use);
    entries_.erase(found);
    throw;
  }
}

// Nothing that is being made is let go, so the entry is still there.
void ByteCache::keep(const std::string& key, std::int64_t bytes) {
  const std::scoped_lock lock(mutex_);
  entries_.at(key).bytes = bytes;
  bytes_ += bytes;
  for (auto last = uses_.end(); bytes_ > limit_ && last != uses_.begin();) {
    const auto entry = entries_.find(*--last);
    if (entry->second.bytes == 0) continue;
    bytes_ -= entry->second.bytes;
    entries_.erase(entry);
    last = uses_.erase(last);
  }
}

std::int64_t ByteCache::bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

}  // namespace attn::server
