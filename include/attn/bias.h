// attn/bias.h - biases that depend on how far a key is from its query: ALiBi, T5, clamped relative positions.
//
// Options::bias takes such a table as [H, N + M - 1], where query i and key j meet at index j - i + N - 1.
#pragma once

#include <cstdint>
#include <vector>

#include "attn/view.h"

namespace attn {

// N queries against M keys. Query i stands at position i + query_offset, key j at position j: a cache that already held
// `seen` keys before these queries came passes query_offset = seen (then M = seen + N).
struct Positions {
  std::int64_t queries = 0;  // N
  std::int64_t keys = 0;     // M
  std::int64_t query_offset = 0;
};

// A table that owns its numbers, for Options::bias. It must live as long as the views of it are used.
class DistanceBias {
 public:
  // All zeros, for own rules. Throws std::invalid_argument for heads below 1 or negative numbers of queries and keys.
  DistanceBias(std::int64_t heads, const Positions& positions);

  [[nodiscard]] View<const float, 2> view() const& noexcept;  // [H, N + M - 1]
  [[nodiscard]] View<float, 2> view() & noexcept;
  void view() && = delete;  // the numbers would be gone before the view is used

  // What an index stands for: the key's position minus the query's.
  [[nodiscard]] std::int64_t distance(std::int64_t index) const noexcept { return index - zero_; }

 private:
  Shape<2> shape_{};
  std::int64_t zero_ = 0;  // the index at which both have the same position
  std::vector<float> values_;
};

// ALiBi (Press, Smith, Lewis: Train Short, Test Long, ICLR 2022): -slope[h] |i - j|, for keys before and behind the
// query alike. With a causal mask this is the paper's bias: keys behind the query are not seen.
DistanceBias alibi(std::int64_t heads, const Positions& positions);

// The slopes: 2^(-8 (h+1) / heads) if heads is a power of two; else those of the next smaller power p, followed by
// every second one of 2p. 8 heads: 1/2, 1/4, ..., 1/256.
std::vector<float> alibi_slopes(std::int64_t heads);

// How T5 (Raffel et al., JMLR 2020) sorts distances, key's position minus query's: near ones have a bucket each,
// farther ones share buckets that grow logarithmically up to max_distance, beyond which all share the last.
// Bidirectional: half of the buckets are for keys behind the query; otherwise these fall into bucket 0. In float32
// arithmetic, as torch.
struct T5Buckets {
  bool bidirectional = true;
  std::int64_t buckets = 32;
  std::int64_t max_distance = 128;
};

// The bucket, in [0, rule.buckets). Throws std::invalid_argument for fewer than 2 buckets (4 if bidirectional), or if
// max_distance is not beyond the distances that have a bucket of their own.
std::int64_t t5_bucket(std::int64_t distance, const T5Buckets& rule);

// table [buckets, H], as a T5 model stores it, looked up by t5_bucket. rule.buckets must be the table's.
DistanceBias t5_bias(View<const float, 2> table, const Positions& positions, const T5Buckets& rule);

// table [2 R + 1, H], one row for each distance from -R to R; farther ones count as -R and R (Shaw, Uszkoreit, Vaswani:
// Self-Attention with Relative Position Representations, NAACL 2018; here as a bias of the score).
DistanceBias clamped_relative(View<const float, 2> table, const Positions& positions);

}  // namespace attn
