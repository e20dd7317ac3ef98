// insight/statistics/check.h - checks that tables of weights are valid attention.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attn/thread_pool.h"
#include "base/progress.h"
#include "insight/tables/attention_tables.h"

namespace attn::insight {

// How far a row's sum may be from 1. Weights are exp(score - lse), so a sum is off by as much as scores and lse are.
// Rebuilding the weights may add the products of a score in another order (another instruction set) than the recording
// did: some 2^-24 of each, times the root of a head's width. Measured on the machine that recorded: 2e-6 at most. lse
// is a float, which at 10,000 keeps only three decimal places: hence the second term.
constexpr double sum_bound(double lse) noexcept { return 1e-3 + 0x1p-20 * (lse < 0 ? -lse : lse); }

// At most six digits: "1.37", "NaN".
std::string short_number(double value);

struct CheckFailure {
  HeadId head;
  std::int64_t row = 0;
  std::string problem;  // "the weights sum to 1.37, not 1"
};
// "layer 5, head 0, row 3: the weights sum to 1.37, not 1"
std::string to_string(const CheckFailure& failure);

struct CheckResult {
  std::int64_t heads = 0, rows = 0;     // checked; rows of all heads together
  std::int64_t all_rows = 0;            // rows of all heads, checked or not
  double deviation = 0;                 // the largest |sum - 1|
  std::optional<CheckFailure> failure;  // the first, by head and row
  // The first row with a number outside [0, 1] or not finite: "-0.5 is not a weight: weights lie between 0 and 1".
  std::optional<CheckFailure> no_weight;
};

// "1,728 rows of 144 heads sum to 1 within 2e-07, masked weights are 0, all are finite", or the failure.
std::string in_words(const CheckResult& result);

// Rows per strip. Fewer would cost nearly as much: every call for weights packs the keys.
inline constexpr std::int64_t kCheckedStrip = 16;

// Number of weights of all heads.
double count_weights(const AttentionLayout& layout);

struct CheckOptions {
  // Above this number of weights, only about as many are checked: evenly spaced strips of kCheckedStrip rows per head,
  // including the first and the last row. (lse is checked in all rows.)
  std::int64_t most_weights = 100'000'000;
  double all_weights = 0;  // number of weights of all heads, if the tables hold only some of them; 0: count the tables'
  base::Progress progress = {};  // in heads
};

// Checks that every weight is finite, in [0, 1] and exactly 0 where the mask forbids, and that every row sums to 1, or
// to 0 if the mask allows no key. One pass over blocks, one head per thread.
CheckResult check_weights(const AttentionTables& tables, const CheckOptions& options, ThreadPool& pool);

}  // namespace attn::insight
