// insight/statistics/check.h - tables of weights check themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attn/thread_pool.h"
#include "base/progress.h"
#include "insight/tables/attention_tables.h"

namespace attn::insight {

// How far a row's sum may be from 1. Weights are exp(score - lse), so a sum is off by as much as scores and lse are.
// Whoever rebuilds them may add up the products of a score in another order (another instruction set) than whoever
// wrote lse: some 2^-24 of each, times the root of a head's width. Measured on the machine that recorded: 2e-6 at most.
// lse itself is a float, which of 10,000 leaves no more than three digits behind the point: hence the second part.
constexpr double sum_bound(double lse) noexcept { return 1e-3 + 0x1p-20 * (lse < 0 ? -lse : lse); }

// Six digits at most: "1.37", "NaN".
std::string short_number(double value);

struct CheckFailure {
  HeadId head;
  std::int64_t row = 0;
  std::string problem;  // "the weights sum to 1.37; 1 is right"
};
// "layer 5, head 0, row 3: the weights sum to 1.37; 1 is right"
std::string to_string(const CheckFailure& failure);

struct CheckResult {
  std::int64_t heads = 0, rows = 0;     // that were looked at; rows of all heads together
  std::int64_t all_rows = 0;            // that there are
  double deviation = 0;                 // the largest |sum - 1|
  std::optional<CheckFailure> failure;  // the first, by head and row
  // The first with a number that is no weight, whatever the others are: "-0.5 is no weight: they go from 0 to 1".
  std::optional<CheckFailure> no_weight;
};

// "1,728 rows of 144 heads sum to 1 within 2e-07, masked weights are 0, all are finite", or what is wrong.
std::string in_words(const CheckResult& result);

// Fewer cost nearly as much: every call for weights packs the keys.
inline constexpr std::int64_t kCheckedStrip = 16;

// Of all heads.
double count_weights(const AttentionLayout& layout);

struct CheckOptions {
  // With more weights than this, each head is looked at in strips of kCheckedStrip rows that come to about this number,
  // evenly spaced, the first and the last row among them. (That lse is finite is looked at in all rows.)
  std::int64_t most_weights = 100'000'000;
  double all_weights = 0;  // how many there are, where the specimen has some of the heads only; 0: as many as it has
  base::Progress progress = {};  // in heads
};

// Every weight is finite and in [0, 1], exactly 0 where the mask forbids, and a row's weights sum to 1, or to 0 where
// the mask lets it see nothing. One pass over tiles, a head a thread.
CheckResult check_weights(const AttentionTables& tables, const CheckOptions& options, ThreadPool& pool);

}  // namespace attn::insight
