// insight/statistics/statistics.h - summarises each head's table in a few numbers: one pass over blocks, O(N) memory
// per head.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "attn/thread_pool.h"
#include "base/progress.h"
#include "insight/tables/attention_tables.h"

namespace attn::insight {

inline constexpr std::int64_t kFarthestOffset = 16;
inline constexpr std::int64_t kNear = 4;

// Where attention goes: the mass on some keys, as a mean over queries.
struct Shares {
  double first = 0;        // the first key
  double separators = 0;   // special tokens other than the first key
  double punctuation = 0;  // see is_punctuation()
  double duplicate = 0;    // earlier copies of the query's token; mean over the queries that have one
  double induction = 0;    // tokens that followed such copies, before the query; mean over the queries that have one
  double near = 0;         // |i - j| <= kNear
  double beyond = 0;       // |i - j| > StatisticsOptions::beyond
  std::array<double, 2 * kFarthestOffset + 1>
      offsets{};  // mean of p[i, i + o], o from -16 to 16; 0 if no query has such a key

  [[nodiscard]] double sink() const noexcept { return first + separators; }
  [[nodiscard]] double offset(std::int64_t o) const noexcept {
    return offsets[static_cast<std::size_t>(o + kFarthestOffset)];
  }
};

// Names of the shares, for output.
struct ShareName {
  const char* name;
  double Shares::* share;
};
inline constexpr std::array<ShareName, 7> kShareNames = {{{"first", &Shares::first},
                                                          {"separators", &Shares::separators},
                                                          {"punctuation", &Shares::punctuation},
                                                          {"duplicate", &Shares::duplicate},
                                                          {"induction", &Shares::induction},
                                                          {"near", &Shares::near},
                                                          {"beyond", &Shares::beyond}}};

// How many queries of N have a key among M at i + offset.
constexpr std::int64_t pairs_at(std::int64_t offset, std::int64_t queries, std::int64_t keys) noexcept {
  const std::int64_t from = offset < 0 ? -offset : 0, to = keys - offset < queries ? keys - offset : queries;
  return to > from ? to - from : 0;
}

struct HeadStatistics {
  HeadId name;
  std::int64_t queries = 0, keys = 0;
  double entropy = 0;        // nats, mean over queries
  double entropy_share = 0;  // entropy / log(number of visible keys), mean over queries that may see several keys
  double distance = 0;       // mean over queries of sum_j p |i - j|
  Shares shares;
  Shares even;                  // the baseline: a head that attends evenly to all visible keys
  std::vector<float> received;  // [M], sums over queries
  std::vector<float> outgoing;  // [N], sums over keys: 1 unless the query sees no key
  std::vector<float> diagonal;  // [min(N, M)]
  // Number of queries that have an earlier copy of their token, and a token that followed it.
  std::int64_t duplicate_queries = 0, induction_queries = 0;
};

// The mean over the heads of a layer.
struct LayerStatistics {
  Kind kind = Kind::self;
  std::int64_t layer = 0;
  double entropy = 0;
  std::vector<float> received, outgoing, diagonal;
};

// Called with the blocks of the result's head number `head`, on the thread that iterates over them.
using AlsoTake = std::function<void(std::int64_t head, Rectangle window, View<const float, 2> weights)>;

struct StatisticsOptions {
  std::int64_t beyond = 16;
  std::optional<Kind> kind = std::nullopt;  // none: all
  base::Progress progress = {};             // in heads
  AlsoTake also = {};                       // called with the same blocks; may be empty
};

// In the order of tables.heads(). The result has the same bits for any number of threads.
std::vector<HeadStatistics> statistics(const AttentionTables& tables, const StatisticsOptions& options,
                                       ThreadPool& pool);

std::vector<LayerStatistics> layer_statistics(const std::vector<HeadStatistics>& heads);

}  // namespace attn::insight
