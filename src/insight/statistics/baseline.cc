#include "insight/statistics/baseline.h"

#include <algorithm>
#include <bit>

namespace attn::insight {

namespace {

bool same_tokens(const std::vector<text::Token>& a, const std::vector<text::Token>& b) {
  return std::ranges::equal(a, b, {}, &text::Token::piece, &text::Token::piece);
}

// counts[j]: number of members of a set before key j.
std::vector<std::int64_t> counts_of(const std::vector<bool>& set) {
  std::vector<std::int64_t> counts(set.size() + 1);
  for (std::size_t j = 0; j < set.size(); ++j) counts[j + 1] = counts[j] + (set[j] ? 1 : 0);
  return counts;
}

// How many of [from, to) lie within `far` of i.
std::int64_t within(std::int64_t i, std::int64_t far, std::int64_t from, std::int64_t to) {
  return std::max<std::int64_t>(0, std::min(to, i + far + 1) - std::max(from, i - far));
}

// The range from the first key that query i may see to one past the last.
std::array<std::int64_t, 2> span_of(const Mask& mask, std::int64_t i, std::int64_t keys) {
  std::array<std::int64_t, 2> span{0, 0};
  for (std::int64_t j = 0; j < keys; j += 64) {
    std::uint64_t bits = mask.row(0, 0, i, j);
    if (keys - j < 64) bits &= (std::uint64_t{1} << (keys - j)) - 1;
    if (bits == 0) continue;
    if (span[1] == 0) span[0] = j + std::countr_zero(bits);
    span[1] = j + 64 - std::countl_zero(bits);
  }
  return span;
}

}  // namespace

VisibleKeys visible_keys(const AttentionTables& tables, const HeadId& head) {
  VisibleKeys visible{tables.causal(head), 0, tables.stack(head.kind).keys};
  if (const model::Recording* recording = tables.recording()) {
    const model::Rule& rule = recording->log.attention(head.kind, head.layer).rule;
    visible.window = rule.window;
    if (!rule.also.everything()) {
      const Mask mask = rule.mask();
      for (std::int64_t i = 0; i < tables.stack(head.kind).queries; ++i)
        visible.spans.push_back(span_of(mask, i, visible.keys));
    }
  }
  return visible;
}

TokenSets::TokenSets(const AttentionTables& tables, const AttentionStack& stack)
    : queries(stack.queries), keys(stack.keys) {
  const std::vector<text::Token>& tokens = tables.keys(stack.kind);
  for (std::size_t j = 0; j < tokens.size(); ++j) {
    separators.push_back(j > 0 && is_special(tokens[j]));
    punctuation.push_back(is_punctuation(tokens[j]));
  }
  if (stack.kind == Kind::cross || !same_tokens(tables.queries(stack.kind), tokens)) return;
  repeats.emplace(tokens);
  for (std::int64_t i = 0; i < queries; ++i) {
    const auto before = repeats->before(i);
    duplicate_queries += before.empty() ? 0 : 1;
    induction_queries += before.empty() || before.front() + 1 >= i ? 0 : 1;
  }
}

Shares even_shares(const TokenSets& sets, const VisibleKeys& visible, std::int64_t beyond) {
  Shares sums;
  const std::vector<std::int64_t> separators = counts_of(sets.separators), marks = counts_of(sets.punctuation);
  for (std::int64_t i = 0; i < sets.queries; ++i) {
    const std::int64_t from = visible.from(i), to = visible.to(i);
    if (to <= from) continue;
    const double each = 1 / static_cast<double>(to - from);
    const auto count = [&](const std::vector<std::int64_t>& counts) {
      return each * static_cast<double>(counts[static_cast<std::size_t>(to)] - counts[static_cast<std::size_t>(from)]);
    };
    sums.first += from == 0 ? each : 0;
    sums.separators += count(separators);
    sums.punctuation += count(marks);
    sets.each_duplicate(i, from, to, [&](std::int64_t) { sums.duplicate += each; });
    sets.each_follower(i, from, to, [&](std::int64_t) { sums.induction += each; });
    sums.near += each * static_cast<double>(within(i, kNear, from, to));
    sums.beyond += each * static_cast<double>(to - from - within(i, beyond, from, to));
    for (std::int64_t o = -kFarthestOffset; o <= kFarthestOffset; ++o) {
      if (i + o >= from && i + o < to) sums.offsets[static_cast<std::size_t>(o + kFarthestOffset)] += each;
    }
  }
  return means_of(sums, sets);
}

Shares means_of(const Shares& sums, const TokenSets& sets) {
  const auto mean = [](double sum, std::int64_t count) { return count > 0 ? sum / static_cast<double>(count) : 0; };
  Shares means;
  means.first = mean(sums.first, sets.queries);
  means.separators = mean(sums.separators, sets.queries);
  means.punctuation = mean(sums.punctuation, sets.queries);
  means.duplicate = mean(sums.duplicate, sets.duplicate_queries);
  means.induction = mean(sums.induction, sets.induction_queries);
  means.near = mean(sums.near, sets.queries);
  means.beyond = mean(sums.beyond, sets.queries);
  for (std::int64_t o = -kFarthestOffset; o <= kFarthestOffset; ++o) {
    const auto at = static_cast<std::size_t>(o + kFarthestOffset);
    means.offsets[at] = mean(sums.offsets[at], pairs_at(o, sets.queries, sets.keys));
  }
  return means;
}

}  // namespace attn::insight
