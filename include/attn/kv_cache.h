// attn/kv_cache.h - keys and values of the tokens so far, growing a few tokens at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attn/view.h"

namespace attn {

// Reserves address space for max_tokens at construction and takes memory only as tokens arrive. So growing never moves
// or copies, and k() and v() are ordinary strided views for attention(). append() never touches tokens that are already
// there, so views taken before it stay valid. Only one thread at a time may change a cache.
class KvCache {
 public:
  struct Config {
    std::int64_t batch = 1, heads = 1;  // B, G
    std::int64_t width = 64;            // D
    std::int64_t value_width = 0;       // E; 0: as width
    std::int64_t max_tokens = 1 << 20;
    Type type = Type::float32;
  };

  // Throws std::invalid_argument for sizes below 1 (value_width: below 0), std::bad_alloc if the system refuses the
  // address space.
  explicit KvCache(const Config& config);
  ~KvCache();
  KvCache(KvCache&& other) noexcept;  // leaves other empty; append() to it then throws std::length_error
  KvCache& operator=(KvCache&& other) noexcept;
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  // Appends n tokens: k [B, G, n, D] and v [B, G, n, E], each of any type, converted to the cache's. Throws
  // std::invalid_argument if shapes disagree and std::length_error beyond max_tokens; the cache is then unchanged.
  void append(const AnyView<4>& k, const AnyView<4>& v);

  // Drops all but the first `tokens` tokens and returns their memory to the system if it is much. Throws
  // std::invalid_argument unless 0 <= tokens <= size().
  void truncate(std::int64_t tokens);

  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  [[nodiscard]] const Config& config() const noexcept { return config_; }  // with value_width filled in

  [[nodiscard]] AnyView<4> k() const noexcept;  // [B, G, size, D]
  [[nodiscard]] AnyView<4> v() const noexcept;  // [B, G, size, E]

 private:
  Config config_;
  std::int64_t size_ = 0;
  std::byte* k_ = nullptr;
  std::byte* v_ = nullptr;
};

}  // namespace attn
