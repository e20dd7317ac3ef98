#include "insight/statistics/words_attended.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "base/edit_distance.h"
#include "insight/tables/word_boundary.h"

namespace attn::insight {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return lower(c); });
  return out;
}

// Writes the mean over heads of the queries from `row` on, as many as `mean` has rows. `one` is scratch of the same
// size.
void mean_of_heads(const AttentionTables& tables, std::span<const HeadId> heads, std::int64_t row,
                   const std::array<View<float, 2>, 2>& mean_and_one, ThreadPool& pool) {
  const auto& [mean, one] = mean_and_one;
  const std::int64_t count = mean.shape[0] * mean.shape[1];
  std::fill_n(mean.data, count, 0.0F);
  for (const HeadId& head : heads) {
    tables.weights(head, {row, 0}, one, pool);
    std::transform(one.data, one.data + count, mean.data, mean.data, std::plus<>());
  }
  std::for_each_n(mean.data, count, [&](float& x) { x /= static_cast<float>(heads.size()); });
}

}  // namespace

Attended attended(std::span<const float> weights, std::span<const text::Token> keys, const AttendedOptions& how) {
  Attended out;
  std::vector<std::int64_t> order;
  for (std::size_t j = 0; j < weights.size(); ++j) {
    if (keys[j].special && !how.special) {
      out.special += weights[j];
    } else if (weights[j] != 0) {
      order.push_back(static_cast<std::int64_t>(j));
    }
  }
  const auto weight = [&](std::int64_t key) { return weights[static_cast<std::size_t>(key)]; };
  const auto shown = order.begin() + std::min<std::int64_t>(how.top, std::ssize(order));
  std::partial_sort(order.begin(), shown, order.end(), [&](std::int64_t a, std::int64_t b) {
    return weight(a) != weight(b) ? weight(a) > weight(b) : a < b;
  });
  for (auto key = order.begin(); key != shown; ++key) out.most.push_back({*key, weight(*key)});
  for (auto key = shown; key != order.end(); ++key) out.rest += weight(*key);
  return out;
}

void each_mean_row(const AttentionTables& tables, std::span<const HeadId> heads, const TakeRow& take,
                   ThreadPool& pool) {
  constexpr std::int64_t kFloats = std::int64_t{1} << 20;  // per band: a few rows of a long text, all of a short one
  const AttentionStack& all = tables.stack(heads.front().kind);
  const std::int64_t step = std::clamp<std::int64_t>(kFloats / all.keys, 1, all.queries);
  nn::Matrix mean(step, all.keys), one(step, all.keys);
  for (std::int64_t row = 0; row < all.queries; row += step) {
    const std::int64_t rows = std::min(step, all.queries - row);
    mean_of_heads(tables, heads, row, {nn::rows_of(mean.view(), 0, rows), nn::rows_of(one.view(), 0, rows)}, pool);
    for (std::int64_t i = 0; i < rows; ++i) take(row + i, {mean.row(i), static_cast<std::size_t>(all.keys)});
  }
}

std::vector<float> mean_row(const AttentionTables& tables, std::span<const HeadId> heads, std::int64_t query,
                            ThreadPool& pool) {
  const std::int64_t keys = tables.stack(heads.front().kind).keys;
  std::vector<float> mean(static_cast<std::size_t>(keys)), one(mean.size());
  mean_of_heads(tables, heads, query, {View<float, 2>{mean.data(), {1, keys}}, View<float, 2>{one.data(), {1, keys}}},
                pool);
  return mean;
}

std::vector<std::int64_t> find_words(std::span<const text::Token> words, std::string_view text) {
  std::vector<std::int64_t> same, alike;
  const std::string_view asked = without_spaces_around(text);
  const std::string low = lower(asked);
  for (std::size_t w = 0; w < words.size(); ++w) {
    const std::string_view word = without_spaces_around(words[w].text);
    if (word == asked) same.push_back(static_cast<std::int64_t>(w));
    if (lower(word) == low) alike.push_back(static_cast<std::int64_t>(w));
  }
  return same.empty() ? alike : same;
}

std::vector<std::string> nearest_words(std::span<const text::Token> words, std::string_view text, std::size_t count) {
  const std::string low = lower(text);
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const text::Token& word : words) {
    const auto known = [&](const auto& other) { return other.second == word.text; };
    if (word.special || std::ranges::any_of(near, known)) continue;
    near.emplace_back(base::edit_distance(low, lower(word.text)), word.text);
  }
  std::ranges::stable_sort(near, {}, [](const auto& one) { return one.first; });
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min(count, near.size()); ++i) out.push_back(std::move(near[i].second));
  return out;
}

}  // namespace attn::insight
