// insight/statistics/head_types.h - names for what heads do, with the reason in words, and an order in which to look at
// them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "insight/statistics/statistics.h"
#include "nn/infer/matrix.h"

namespace attn::insight {

// A share of attention is clear where it covers this much of the way from what a head that looks everywhere equally
// would have (`even`) to all of it: (share - even) / (1 - even) >= kClear.
inline constexpr double kClear = 0.4;
inline constexpr double kClearlyLocal = 0.6;      // the same for keys at most kNear tokens away
inline constexpr double kBroad = 0.9;             // of the largest entropy
inline constexpr std::int64_t kLeastQueries = 3;  // that duplicate and induction must be seen on in a text

// In [0, 1]: 0 where a share is not above `even`.
double clearness(double share, double even) noexcept;

struct HeadType {
  std::string name;  // previous token, next token, same token, positional offset, local, duplicate, induction,
                     // punctuation, sink, broad
  double score = 0;  // in [0, 1]
  double clear = 0;  // clearness() of the score; of broad, the score
  std::string reason;
};

struct HeadReport {
  HeadStatistics statistics;
  std::vector<HeadType> types;  // highest score first; empty: nothing is clear
  double interest = 0;
  bool resting = false;  // sink or broad, and nothing else

  // Of the clearest pattern, else of the first type; where there is none, how it spreads.
  [[nodiscard]] std::string reason() const;
};

// What `interest` is and what the order follows, in one sentence.
inline constexpr const char* kInterestRule =
    "Interest is how far the share of a head's clearest pattern (sink and broad are none) lies between what an even\n"
    "head has and 1 or, if larger, (share beside sinks) x (1 - entropy / largest entropy); heads that are only sink "
    "or\n"
    "broad come last.";

// `induction`: [layers, heads] of kind self as induction_scores() gives it. Empty: what the text itself shows.
std::vector<HeadReport> report(std::vector<HeadStatistics> heads, const nn::Matrix& induction);

// Places of the reports, the one to look at first in front; equals stay in order.
std::vector<std::size_t> ranking(const std::vector<HeadReport>& reports);

// Both together; there is at least one head.
struct HeadsReport {
  std::vector<HeadReport> heads;     // in the order of layers
  std::vector<std::size_t> ranking;  // places in heads

  HeadsReport(std::vector<HeadStatistics> statistics, const nn::Matrix& induction);
  [[nodiscard]] const HeadReport& best() const { return heads[ranking.front()]; }
};

}  // namespace attn::insight
