// insight/statistics/statistics.h - every head's table in a few numbers: one pass over tiles, O(N) memory a head.
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

// Where attention goes: means over queries of the mass that lies on some keys.
struct Shares {
  double first = 0;        // the first key
  double separators = 0;   // special tokens other than that
  double punctuation = 0;  //
  double duplicate = 0;    // equal tokens before the query; mean over the queries that have one
  double induction = 0;    // what followed these, before the query; mean over the queries that have such
  double near = 0;         // |i - j| <= kNear
  double beyond = 0;       // |i - j| > StatisticsOptions::beyond
  std::array<double, 2 * kFarthestOffset + 1>
      offsets{};  // mean of p[i, i + o], o from -16 to 16; 0 where there is none

  [[nodiscard]] double sink() const noexcept { return first + separators; }
  [[nodiscard]] double offset(std::int64_t o) const noexcept {
    return offsets[static_cast<std::size_t>(o + kFarthestOffset)];
  }
};

// Their names, as people read them.
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
  double entropy_share = 0;  // of log(number of keys that the query may see), mean over queries that may see several
  double distance = 0;       // mean over queries of sum_j p |i - j|
  Shares shares;
  Shares even;                  // the same of a head that looks at all that it may see equally
  std::vector<float> received;  // [M], sums over queries
  std::vector<float> outgoing;  // [N], sums over keys: 1 wherever a query may see anything
  std::vector<float> diagonal;  // [min(N, M)]
  // How many queries have an equal token before them, and something that followed it.
  std::int64_t duplicate_queries = 0, induction_queries = 0;
};

// Of the mean over a layer's heads; its entropy is the mean of theirs.
struct LayerStatistics {
  Kind kind = Kind::self;
  std::int64_t layer = 0;
  double entropy = 0;
  std::vector<float> received, outgoing, diagonal;
};

// Sees the tiles of head number `head` of the result, on the one thread that goes over them.
using AlsoTake = std::function<void(std::int64_t head, Rectangle window, View<const float, 2> weights)>;

struct StatisticsOptions {
  std::int64_t beyond = 16;
  std::optional<Kind> kind = std::nullopt;  // none: all
  base::Progress progress = {};             // in heads
  AlsoTake also = {};                       // for whoever needs the same tiles; empty: nobody
};

// In the order of specimen.heads(). The result has the same bits whatever the number of threads.
std::vector<HeadStatistics> statistics(const AttentionTables& tables, const StatisticsOptions& options,
                                       ThreadPool& pool);

std::vector<LayerStatistics> layer_statistics(const std::vector<HeadStatistics>& heads);

}  // namespace attn::insight
