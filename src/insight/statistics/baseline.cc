#include "insight/statistics/baseline.h"

#include <algorithm>
#include <bit>

namespace attn::insight {

namespace {

bool same_tokens(const std::vector<text::Token>& a, const std::vector<text::Token>& b) {
  return std::ranges::equal(a, b, {}, &text::Token::piece, &text::Token::piece);
}

// counts[j]: members of a set before key j.
std::vector<std::int64_t> counts_of(const std::vector<bool>& set) {
  std::vector<std::int64_t> counts(set.size() + 1);
  for (std::size_t j = 0; j < set.size(); ++j) counts[j + 1] = counts[j] + (set[j] ? 1 : 0);
  return counts;
}

// How many of [from, to) lie within `far` of i.
std::int64_t within(std::int64_t i, std::int64_t far, std::int64_t from, std::int64_t to) {
  return std::max<std::int64_t>(0, std::min(to, i + far + 1) - std::max(from, i - far));
}

// From the first key that a query may see to behind the last.
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

Sight sight_of(const Specimen& specimen, const HeadName& head) {
  Sight sight{specimen.causal(head), 0, specimen.stack(head.kind).keys};
  if (const model::Reading* reading = specimen.reading()) {
    const model::Rule& rule = reading->recording.attention(head.kind, head.layer).rule;
    sight.window = rule.window;
    if (!rule.also.everything()) {
      const Mask mask = rule.mask();
      for (std::int64_t i = 0; i < specimen.stack(head.kind).queries; ++i)
        sight.spans.push_back(span_of(mask, i, sight.keys));
    }
  }
  return sight;
}

Ground::Ground(const Specimen& specimen, const Stack& stack) : queries(stack.queries), keys(stack.keys) {
  const std::vector<text::Token>& tokens = specimen.keys(stack.kind);
  for (std::size_t j = 0; j < tokens.size(); ++j) {
    separators.push_back(j > 0 && is_special(tokens[j]));
    punctuation.push_back(is_punctuation(tokens[j]));
  }
  if (stack.kind == Kind::cross || !same_tokens(specimen.queries(stack.kind), tokens)) return;
  repeats.emplace(tokens);
  for (std::int64_t i = 0; i < queries; ++i) {
    const auto before = repeats->before(i);
    duplicate_queries += before.empty() ? 0 : 1;
    induction_queries += before.empty() || before.front() + 1 >= i ? 0 : 1;
  }
}

Shares even_shares(const Ground& ground, const Sight& sight, std::int64_t beyond) {
  Shares sums;
  const std::vector<std::int64_t> separators = counts_of(ground.separators), marks = counts_of(ground.punctuation);
  for (std::int64_t i = 0; i < ground.queries; ++i) {
    const std::int64_t from = sight.from(i), to = sight.to(i);
    if (to <= from) continue;
    const double each = 1 / static_cast<double>(to - from);
    const auto count = [&](const std::vector<std::int64_t>& counts) {
      return each * static_cast<double>(counts[static_cast<std::size_t>(to)] - counts[static_cast<std::size_t>(from)]);
    };
    sums.first += from == 0 ? each : 0;
    sums.separators += count(separators);
    sums.punctuation += count(marks);
    ground.each_duplicate(i, from, to, [&](std::int64_t) { sums.duplicate += each; });
    ground.each_follower(i, from, to, [&](std::int64_t) { sums.induction += each; });
    sums.near += each * static_cast<double>(within(i, kNear, from, to));
    sums.beyond += each * static_cast<double>(to - from - within(i, beyond, from, to));
    for (std::int64_t o = -kFarthestOffset; o <= kFarthestOffset; ++o) {
      if (i + o >= from && i + o < to) sums.offsets[static_cast<std::size_t>(o + kFarthestOffset)] += each;
    }
  }
  return means_of(sums, ground);
}

Shares means_of(const Shares& sums, const Ground& ground) {
  const auto mean = [](double sum, std::int64_t count) { return count > 0 ? sum / static_cast<double>(count) : 0; };
  Shares means;
  means.first = mean(sums.first, ground.queries);
  means.separators = mean(sums.separators, ground.queries);
  means.punctuation = mean(sums.punctuation, ground.queries);
  means.duplicate = mean(sums.duplicate, ground.duplicate_queries);
  means.induction = mean(sums.induction, ground.induction_queries);
  means.near = mean(sums.near, ground.queries);
  means.beyond = mean(sums.beyond, ground.queries);
  for (std::int64_t o = -kFarthestOffset; o <= kFarthestOffset; ++o) {
    const auto at = static_cast<std::size_t>(o + kFarthestOffset);
    means.offsets[at] = mean(sums.offsets[at], pairs_at(o, ground.queries, ground.keys));
  }
  return means;
}

}  // namespace attn::insight
