#include "server/store/byte_cache.h"

#include <iterator>
#include <utility>

namespace attn::server {

Bytes ByteCache::get(const std::string& key, const std::function<std::string()>& make) {
  return get(key, {}, [&](const base::Progress&) { return make(); });
}

Bytes ByteCache::get(const std::string& key, const base::Progress& mine,
                     const std::function<std::string(const base::Progress&)>& make) {
  const std::shared_ptr<Value> value = enter(key);
  try {
    value->task.join(mine, [&](const base::Progress& progress) {
      value->bytes = std::make_shared<const std::string>(make(progress));
    });
  } catch (...) {
    leave(key, value);
    throw;
  }
  leave(key, value);
  return value->bytes;
}

std::shared_ptr<ByteCache::Value> ByteCache::enter(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  auto found = entries_.find(key);
  if (found == entries_.end()) {
    uses_.push_front(key);
    found = entries_.emplace(key, Entry{std::make_shared<Value>(), 0, 0, uses_.begin()}).first;
  }
  ++found->second.users;
  uses_.splice(uses_.begin(), uses_, found->second.use);
  return found->second.value;
}

// Keeps an entry that another caller waits for, or whose bytes are cached.
void ByteCache::leave(const std::string& key, const std::shared_ptr<Value>& value) {
  const std::scoped_lock lock(mutex_);
  const auto entry = entries_.find(key);
  if (entry == entries_.end() || entry->second.value != value) return;  // evicted meanwhile
  --entry->second.users;
  if (!value->task.done()) {
    if (entry->second.users > 0) return;
    uses_.erase(entry->second.use);
    entries_.erase(entry);
    return;
  }
  if (entry->second.bytes > 0) return;
  entry->second.bytes = kEntryBytes + static_cast<std::int64_t>(value->bytes->size() + 2 * key.size());
  bytes_ += entry->second.bytes;
  for (auto last = uses_.end(); bytes_ > limit_ && last != uses_.begin();) {
    const auto oldest = entries_.find(*--last);
    if (oldest->second.bytes == 0) continue;
    bytes_ -= oldest->second.bytes;
    entries_.erase(oldest);
    last = uses_.erase(last);
  }
}

std::int64_t ByteCache::bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

}  // namespace attn::server
