// insight/statistics/baseline.h - what a head's attention is measured against: its tokens, and what its queries may
// see.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "insight/statistics/statistics.h"
#include "insight/statistics/token_sets.h"
#include "insight/tables/attention_tables.h"

namespace attn::insight {

// The keys that a query may see: [from, to). Where a mask has holes, they count as seen.
struct VisibleKeys {
  bool causal = false;
  std::int64_t window = 0;  // as model::Rule's
  std::int64_t keys = 0;
  std::vector<std::array<std::int64_t, 2>> spans = {};  // by query, where the mask has no such rule; else empty

  [[nodiscard]] std::int64_t from(std::int64_t i) const noexcept {
    if (!spans.empty()) return spans[static_cast<std::size_t>(i)][0];
    const std::int64_t back = causal ? window - 1 : window;
    return window > 0 && i > back ? std::min(i - back, keys) : 0;
  }
  [[nodiscard]] std::int64_t to(std::int64_t i) const noexcept {
    if (!spans.empty()) return spans[static_cast<std::size_t>(i)][1];
    if (causal) return std::min(i + 1, keys);
    return window > 0 ? std::min(i + 1 + window, keys) : keys;
  }
  friend bool operator==(const VisibleKeys&, const VisibleKeys&) = default;
};
VisibleKeys visible_keys(const AttentionTables& tables, const HeadId& head);

// Tokens of one kind of attention, in sets.
struct TokenSets {
  TokenSets(const AttentionTables& tables, const AttentionStack& stack);

  // Calls take(j) for the keys j in [from, to) that are equal tokens before query i, or what followed those before i.
  template <typename F>
  void each_duplicate(std::int64_t i, std::int64_t from, std::int64_t to, const F& take) const {
    if (!repeats) return;
    for (const std::int64_t j : repeats->before(i, from, to)) take(j);
  }
  template <typename F>
  void each_follower(std::int64_t i, std::int64_t from, std::int64_t to, const F& take) const {
    if (!repeats) return;
    for (const std::int64_t j : repeats->before(i, from - 1, std::min(to, i) - 1)) take(j + 1);
  }

  std::int64_t queries, keys;
  std::vector<bool> separators, punctuation;  // [M]
  std::optional<Repeats> repeats;             // where queries are the keys
  std::int64_t duplicate_queries = 0, induction_queries = 0;
};

// Sums over queries become means: each share over the queries that it is about.
Shares means_of(const Shares& sums, const TokenSets& sets);

// Of a head that looks at all that it may see equally.
Shares even_shares(const TokenSets& sets, const VisibleKeys& visible, std::int64_t beyond);

}  // namespace attn::insight
