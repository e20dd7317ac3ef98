// insight/statistics/words_attended.h - the words that a word attends to most.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "insight/tables/attention_tables.h"

namespace attn::insight {

// Summary of one row of weights: `most`, `special` and `rest` add up to the whole row.
struct Attended {
  struct Share {
    std::int64_t key = 0;
    float weight = 0;
  };
  std::vector<Share> most;  // largest first, ties in text order, without weights of 0
  double special = 0;       // on special tokens, unless they count as words
  double rest = 0;          // on all other keys
};

struct AttendedOptions {
  std::int64_t top = 3;
  bool special = false;  // count special tokens as words
};

Attended attended(std::span<const float> weights, std::span<const text::Token> keys, const AttendedOptions& how);

// Calls `take` with the mean of some heads of one kind, query by query: O(M) memory. An exception from `take` ends it.
using TakeRow = std::function<void(std::int64_t query, std::span<const float> weights)>;
void each_mean_row(const AttentionTables& tables, std::span<const HeadId> heads, const TakeRow& take, ThreadPool& pool);

// The mean row of one query.
std::vector<float> mean_row(const AttentionTables& tables, std::span<const HeadId> heads, std::int64_t query,
                            ThreadPool& pool);

// Indices of the words equal to `text`, ignoring surrounding spaces; if there are none, ignoring ASCII case too. May be
// empty.
std::vector<std::int64_t> find_words(std::span<const text::Token> words, std::string_view text);
// The words most similar to `text` in spelling, each once, without special tokens.
std::vector<std::string> nearest_words(std::span<const text::Token> words, std::string_view text, std::size_t count);

}  // namespace attn::insight
