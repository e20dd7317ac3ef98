// model/run/cache.h - keys and values of one sequence, kept between two passes of a decoder.
#pragma once

#include <cstdint>
#include <vector>

#include "attn/kv_cache.h"
#include "nn/infer/matrix.h"

namespace attn::model {

class Cache {
 public:
  // The first pass reserves address space for max_tokens; memory is committed as tokens arrive.
  explicit Cache(std::int64_t max_tokens = std::int64_t{1} << 20) : max_tokens_(max_tokens) {}

  [[nodiscard]] std::int64_t seen() const noexcept { return seen_; }  // tokens so far
  [[nodiscard]] std::int64_t max_tokens() const noexcept { return max_tokens_; }

  // ---- for models ----

  struct Cross {
    nn::Matrix k, v;  // [M, G D], of the encoder's memory
  };
  std::vector<KvCache> layers;  // self-attention, one per layer; created by the first pass, like cross
  std::vector<Cross> cross;
  void advance(std::int64_t tokens) noexcept { seen_ += tokens; }

 private:
  std::int64_t max_tokens_;
  std::int64_t seen_ = 0;
};

}  // namespace attn::model
