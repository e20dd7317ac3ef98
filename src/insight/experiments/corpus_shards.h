// insight/experiments/corpus_shards.h - a corpus distributed over ranks, shard by shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "attn/ranks.h"
#include "insight/experiments/corpus.h"

namespace attn::insight {

// A shard is kShardTexts consecutive texts, or fewer once they reach kShardBytes together (the last one may exceed it):
// about 4,000 tokens of English. Small enough that a killed run loses little and that ranks finish together; large
// enough that short texts fill batches and that the sums of 144 heads, 220 kB, are seldom sent.
inline constexpr std::int64_t kShardTexts = 64;
inline constexpr std::size_t kShardBytes = 16'000;

struct ShardTexts {
  // Returns the next text, starting with the very first; none at the end.
  std::function<std::optional<std::string>()> next;
  std::int64_t from = 0;   // number of texts already in the sums; always whole shards
  std::int64_t limit = 0;  // number of texts in all; 0: no limit
};

// Progress as rank 0 knows it.
struct ShardsSoFar {
  std::int64_t in_sums = 0;  // the first in_sums texts are in the sums, whole shards only: a run can resume here
  std::int64_t read = 0;     // by any rank
};

// Adds texts to `sums`. All ranks must call it with the same texts, options and `from`; a rank that is free takes the
// next shard. Rank 0's `sums` must hold the first `from` texts; afterwards it holds all. Sums of shards are added in
// the order of the shards, so the result has the same bits for any number of ranks, and for a run that resumes from the
// sums of another.
//
// Rank 0 calls `between` between texts and while it waits. An exception thrown there, or on any other rank (by next(),
// for example), leaves add_shards() on that rank; the others then return with the corpus half read, and together()
// reports the failure to them.
void add_shards(Corpus& sums, const ShardTexts& texts, const std::function<void(const ShardsSoFar&)>& between,
                Ranks& ranks, ThreadPool& pool);

}  // namespace attn::insight
