// attn/kv_cache.h - keys and values of what has been seen so far, growing a few tokens at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attn/view.h"

namespace attn {

// Address space for max_tokens is set aside at once, memory is taken only as tokens come: growing never moves or
// copies what is there, and k() and v() are ordinary strided views that attention() takes. What append() has written it
// never writes again, so views taken before it stay good. One thread at a time may change a cache.
class KvCache {
 public:
  struct Config {
    std::int64_t batch = 1, heads = 1;  // B, G
    std::int64_t width = 64;            // D
    std::int64_t value_width = 0;       // E; 0: as width
    std::int64_t max_tokens = 1 << 20;
    Type type = Type::float32;
  };

  // Throws std::invalid_argument for sizes below 1 (value_width: below 0), std::bad_alloc if the address space is not
  // to be had.
  explicit KvCache(const Config& config);
  ~KvCache();
  KvCache(KvCache&& other) noexcept;  // other then holds nothing and takes nothing
  KvCache& operator=(KvCache&& other) noexcept;
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  // Adds k [B, G, n, D] and v [B, G, n, E], each of any type, converted to the cache's. Throws std::invalid_argument if
  // shapes disagree, std::length_error beyond max_tokens; then nothing has changed.
  void append(const AnyView<4>& k, const AnyView<4>& v);

  // Forgets all but the first `tokens`, and gives memory back if that is much. Throws std::invalid_argument unless
  // 0 <= tokens <= size().
  void truncate(std::int64_t tokens);

  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  [[nodiscard]] const Config& config() const noexcept { return config_; }  // value_width filled in

  [[nodiscard]] AnyView<4> k() const noexcept;  // [B, G, size, D]
  [[nodiscard]] AnyView<4> v() const noexcept;  // [B, G, size, E]

 private:
  Config config_;
  std::int64_t size_ = 0;
  std::byte* k_ = nullptr;
  std::byte* v_ = nullptr;
};

}  // namespace attn
