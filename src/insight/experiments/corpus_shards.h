// insight/experiments/corpus_shards.h - a corpus that ranks read together, a shard at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "attn/ranks.h"
#include "insight/experiments/corpus.h"

namespace attn::insight {

// A shard is so many texts that follow each other, or fewer if these are as long as this together (the last of them may
// go beyond it): some 4,000 tokens of English. Small enough that little is lost when a run is killed, and that ranks
// end together; large enough that short texts fill batches, and that the sums of 144 heads, 220 kB, are seldom sent.
inline constexpr std::int64_t kShardTexts = 64;
inline constexpr std::size_t kShardBytes = 16'000;

struct ShardTexts {
  // The text that follows, from the very first on; none: all were read.
  std::function<std::optional<std::string>()> next;
  std::int64_t from = 0;   // so many are in the sums already: those of whole shards
  std::int64_t limit = 0;  // in all; 0: there is none
};

// What rank 0 knows of the texts.
struct ShardsSoFar {
  std::int64_t in_sums = 0;  // the first so many texts, those of whole shards: from here another run can go on
  std::int64_t read = 0;     // by any rank
};

// Adds texts to `sums`. All ranks call it with the same texts, options and `from`; each takes the shards whose turn it
// is when it gets free. Rank 0's `sums` must be those of the first `from` texts, and become those of all. The sums of
// each shard are added in the order of the shards: the same bits come out for any number of ranks, and if a run goes on
// with what was in the sums when another one ended.
//
// `between` is called on rank 0 between texts, and while it waits. What is thrown there or on any other rank (by
// next(), say) is thrown on that rank; then the others return, too, with the corpus half read: together() tells them.
void add_shards(Corpus& sums, const ShardTexts& texts, const std::function<void(const ShardsSoFar&)>& between,
                Ranks& ranks, ThreadPool& pool);

}  // namespace attn::insight
