// insight/statistics/baseline.h - the baseline that a head is compared with: attention spread evenly over all visible
// keys.
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

// The keys that each query may see, as a range [from, to). Holes in a mask count as visible.
struct VisibleKeys {
  bool causal = false;
  std::int64_t window = 0;  // as in model::Rule
  std::int64_t keys = 0;
  std::vector<std::array<std::int64_t, 2>> spans = {};  // per query, for masks that causal and window do not describe

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

// The sets of tokens that shares of attention are measured on, for one kind of attention.
struct TokenSets {
  TokenSets(const AttentionTables& tables, const AttentionStack& stack);

  // each_duplicate() calls take(j) for the keys j in [from, to) that are earlier copies of query i's token;
  // each_follower() for the keys right after such copies, also before i.
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
  std::optional<Repeats> repeats;             // only if queries and keys are the same tokens
  std::int64_t duplicate_queries = 0, induction_queries = 0;
};

// Turns sums over queries into means: each share is divided by the number of queries it is defined for.
Shares means_of(const Shares& sums, const TokenSets& sets);

// Shares of a head that attends evenly to all visible keys.
Shares even_shares(const TokenSets& sets, const VisibleKeys& visible, std::int64_t beyond);

}  // namespace attn::insight
