// insight/statistics/head_types.h - names what heads do, gives the reason in words, and ranks heads by interest.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "insight/statistics/statistics.h"
#include "nn/infer/matrix.h"

namespace attn::insight {

// A share of attention is clear if it covers this much of the way from the baseline (`even`, the share of a head that
// attends evenly to all visible keys) to 1: (share - even) / (1 - even) >= kClear.
inline constexpr double kClear = 0.4;
inline constexpr double kClearlyLocal = 0.6;      // the same for keys at most kNear tokens away
inline constexpr double kBroad = 0.9;             // of the largest entropy
inline constexpr std::int64_t kLeastQueries = 3;  // that a text must have for duplicate and induction

// (share - even) / (1 - even), in [0, 1]; 0 if the share is not above `even`.
double clearness(double share, double even) noexcept;

struct HeadType {
  std::string name;  // previous token, next token, same token, positional offset, local, duplicate, induction,
                     // punctuation, sink, broad
  double score = 0;  // in [0, 1]
  double clear = 0;  // clearness() of the score; for broad, the score itself
  std::string reason;
};

struct HeadReport {
  HeadStatistics statistics;
  std::vector<HeadType> types;  // highest score first; empty: no type is clear
  double interest = 0;
  bool resting = false;  // sink or broad, and nothing else

  // The reason of the clearest pattern, else of the first type; without types, how the head spreads its attention.
  [[nodiscard]] std::string reason() const;
};

// How `interest` and the ranking are defined, in one sentence for users.
inline constexpr const char* kInterestRule =
    "Interest is how far the share of a head's clearest pattern (not sink or broad) lies between what an even\n"
    "head has and 1 or, if larger, (share beside sinks) x (1 - entropy / largest entropy); heads that are only sink "
    "or\n"
    "broad come last.";

// `induction`: [layers, heads] of kind self, from induction_scores(). If it is empty, the shares in the text decide.
std::vector<HeadReport> report(std::vector<HeadStatistics> heads, const nn::Matrix& induction);

// Indices of the reports, most interesting first; ties stay in order.
std::vector<std::size_t> ranking(const std::vector<HeadReport>& reports);

// Both together, for at least one head.
struct HeadsReport {
  std::vector<HeadReport> heads;     // in layer order
  std::vector<std::size_t> ranking;  // indices into heads

  HeadsReport(std::vector<HeadStatistics> statistics, const nn::Matrix& induction);
  [[nodiscard]] const HeadReport& best() const { return heads[ranking.front()]; }
};

}  // namespace attn::insight
