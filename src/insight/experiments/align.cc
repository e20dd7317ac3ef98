#include "insight/experiments/align.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace attn::insight {

namespace {

using TokenNumbers = std::vector<std::int32_t>;

// Maps equal texts to equal numbers.
TokenNumbers numbered(std::span<const text::Token> tokens, std::map<std::string_view, std::int32_t>& known) {
  TokenNumbers words;
  for (const text::Token& token : tokens)
    words.push_back(known.try_emplace(token.text, static_cast<std::int32_t>(known.size())).first->second);
  return words;
}

// [i, j]: whether dropping a[i] leaves the longest common subsequence of a[0, i] and b[0, j] as long as it is. Keeps
// only one row of the lengths at a time.
std::vector<bool> droppable(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  std::vector<bool> drop(a.size() * b.size());
  std::vector<std::int32_t> above(b.size() + 1), row(b.size() + 1);
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = a[i] == b[j] ? above[j] + 1 : std::max(above[j + 1], row[j]);
      drop[i * b.size() + j] = row[j + 1] == above[j + 1];
    }
    std::swap(row, above);
  }
  return drop;
}

// Adds the pairs of two parts that start at token `skipped` of their texts.
void join_middle(std::span<const std::int32_t> a, std::span<const std::int32_t> b, std::int64_t skipped,
                 Alignment& pairs) {
  const std::vector<bool> drop = droppable(a, b);
  const std::int64_t before = pairs.size();
  std::size_t i = a.size(), j = b.size();
  while (i > 0 && j > 0) {
    if (a[i - 1] == b[j - 1]) {
      pairs.a.push_back(skipped + static_cast<std::int64_t>(--i));
      pairs.b.push_back(skipped + static_cast<std::int64_t>(--j));
    } else if (drop[(i - 1) * b.size() + (j - 1)]) {
      --i;
    } else {
      --j;
    }
  }
  std::reverse(pairs.a.begin() + before, pairs.a.end());
  std::reverse(pairs.b.begin() + before, pairs.b.end());
}

Alignment join(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  Alignment pairs;
  const auto [same_a, same_b] = std::ranges::mismatch(a, b);
  const auto front = same_a - a.begin();
  std::int64_t back = 0;
  const std::int64_t shorter = std::min(std::ssize(a), std::ssize(b)) - front;
  while (back < shorter && *(a.end() - 1 - back) == *(b.end() - 1 - back)) ++back;
  for (std::int64_t k = 0; k < front; ++k) pairs.a.push_back(k), pairs.b.push_back(k);
  const auto middle = [&](std::span<const std::int32_t> all) {
    return all.subspan(static_cast<std::size_t>(front), all.size() - static_cast<std::size_t>(front + back));
  };
  join_middle(middle(a), middle(b), front, pairs);
  for (std::int64_t k = back; k > 0; --k) pairs.a.push_back(std::ssize(a) - k), pairs.b.push_back(std::ssize(b) - k);
  return pairs;
}

}  // namespace

Alignment align(std::span<const text::Token> a, std::span<const text::Token> b) {
  std::map<std::string_view, std::int32_t> known;
  const TokenNumbers left = numbered(a, known), right = numbered(b, known);
  // Which of several longest subsequences is found depends on the order of the texts, so fix the order.
  const auto text_of = [](const text::Token& token) -> std::string_view { return token.text; };
  if (!std::ranges::lexicographical_compare(b, a, {}, text_of, text_of)) return join(left, right);
  Alignment turned = join(right, left);
  std::swap(turned.a, turned.b);
  return turned;
}

}  // namespace attn::insight
