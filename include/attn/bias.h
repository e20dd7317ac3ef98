// attn/bias.h - biases that depend on the distance from query to key: ALiBi, T5, clamped relative positions.
//
// Options::bias takes such a table as [H, N + M - 1]. The bias of query i and key j is at index j - i + N - 1.
#pragma once

#include <cstdint>
#include <vector>

#include "attn/view.h"

namespace attn {

// Positions of N queries and M keys. Query i is at position i + query_offset, key j at position j. With a cache that
// already held `seen` keys before these queries, query_offset = seen and M = seen + N.
struct Positions {
  std::int64_t queries = 0;  // N
  std::int64_t keys = 0;     // M
  std::int64_t query_offset = 0;
};

// A table that owns its numbers, for Options::bias. It must outlive its views.
class DistanceBias {
 public:
  // All zeros, to be filled through view(). Throws std::invalid_argument if heads < 1 or if the number of queries or
  // keys is negative.
  DistanceBias(std::int64_t heads, const Positions& positions);

  [[nodiscard]] View<const float, 2> view() const& noexcept;  // [H, N + M - 1]
  [[nodiscard]] View<float, 2> view() & noexcept;
  void view() && = delete;  // the view would dangle

  // The distance at an index of the table: the key's position minus the query's.
  [[nodiscard]] std::int64_t distance(std::int64_t index) const noexcept { return index - zero_; }

 private:
  Shape<2> shape_{};
  std::int64_t zero_ = 0;  // the index of distance 0
  std::vector<float> values_;
};

// ALiBi (Press, Smith, Lewis: Train Short, Test Long, ICLR 2022): -slope[h] |i - j| for keys before and after the query
// alike. With a causal mask, which hides the keys after the query, this is the paper's bias. Throws
// std::invalid_argument as DistanceBias does.
DistanceBias alibi(std::int64_t heads, const Positions& positions);

// ALiBi's slopes, one per head: 2^(-8 (h+1) / heads) if heads is a power of two; otherwise those of the next smaller
// power p, followed by every second one of 2p. For 8 heads: 1/2, 1/4, ..., 1/256. Throws std::invalid_argument if
// heads < 1.
std::vector<float> alibi_slopes(std::int64_t heads);

// How T5 (Raffel et al., JMLR 2020) maps distances, key's position minus query's, to buckets. Small distances have one
// bucket each, larger ones share buckets that grow logarithmically up to max_distance, and all beyond share the last.
// If bidirectional, half of the buckets are for keys after the query; otherwise those keys fall into bucket 0. Computed
// in float32, as torch does.
struct T5Buckets {
  bool bidirectional = true;
  std::int64_t buckets = 32;
  std::int64_t max_distance = 128;
};

// The bucket of a distance, in [0, rule.buckets). Throws std::invalid_argument for fewer than 2 buckets (4 if
// bidirectional), or if max_distance is not larger than the distances that have a bucket of their own.
std::int64_t t5_bucket(std::int64_t distance, const T5Buckets& rule);

// The bias of a T5 model: each distance gets the row t5_bucket() of table [buckets, H], as the model stores it. Throws
// std::invalid_argument if rule.buckets is not the table's, and as t5_bucket() and DistanceBias do.
DistanceBias t5_bias(View<const float, 2> table, const Positions& positions, const T5Buckets& rule);

// Clamped relative positions (Shaw, Uszkoreit, Vaswani: Self-Attention with Relative Position Representations, NAACL
// 2018; here as a bias of the score). table [2 R + 1, H] has one row for each distance from -R to R; distances beyond
// count as -R and R. Throws std::invalid_argument if the number of rows is even, and as DistanceBias does.
DistanceBias clamped_relative(View<const float, 2> table, const Positions& positions);

}  // namespace attn
