// insight/statistics/words_attended.h - what a word attends to most.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "insight/tables/attention_tables.h"

namespace attn::insight {

// One row of weights, told in a few numbers: those of `most`, special and rest together are all of it.
struct Attended {
  struct Share {
    std::int64_t key = 0;
    float weight = 0;
  };
  std::vector<Share> most;  // falling; equal ones in the order of the text; none of weight 0
  double special = 0;       // on special tokens, where they are set aside
  double rest = 0;          // on all other keys
};

struct AttendedOptions {
  std::int64_t top = 3;
  bool special = false;  // special tokens are words like others
};

Attended attended(std::span<const float> weights, std::span<const text::Token> keys, const AttendedOptions& how);

// The mean of some heads of one kind, query by query in their order: O(M) memory. What `take` throws ends it.
using TakeRow = std::function<void(std::int64_t query, std::span<const float> weights)>;
void each_mean_row(const AttentionTables& tables, std::span<const HeadId> heads, const TakeRow& take, ThreadPool& pool);

// That of one query.
std::vector<float> mean_row(const AttentionTables& tables, std::span<const HeadId> heads, std::int64_t query,
                            ThreadPool& pool);

// Which tokens say this, spaces around it aside; where none does, those that do but for ASCII capitals. May be empty.
std::vector<std::int64_t> find_words(std::span<const text::Token> words, std::string_view text);
// What there is, special tokens left out, that is written most like it; each once.
std::vector<std::string> nearest_words(std::span<const text::Token> words, std::string_view text, std::size_t count);

}  // namespace attn::insight
