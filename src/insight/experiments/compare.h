// insight/experiments/compare.h - two readings beside each other: which heads attend to something else now.
//
// change of a head = mean over aligned queries of JSD(row of A, row of B)
//
// JSD is the Jensen-Shannon divergence with logarithms of base 2: 0 for the same distribution, 1 for two that have
// nothing in common. Its bins are the aligned keys and one more, elsewhere, for all keys that the other text lacks.
#pragma once

#include <cstdint>
#include <vector>

#include "attn/thread_pool.h"
#include "base/progress.h"
#include "insight/experiments/align.h"
#include "insight/tables/attention_tables.h"

namespace attn::insight {

struct HeadChange {
  HeadId head;
  double change = 0;                    // 0 to 1
  double entropy_a = 0, entropy_b = 0;  // mean over all rows, in nats
};

struct Comparison {
  struct Tokens {
    Kind kind = Kind::self;
    Alignment queries, keys;
  };
  std::vector<Tokens> tokens;     // of each kind, as the specimens' stacks
  std::vector<HeadChange> heads;  // the most changed first

  // Of a kind that there is.
  [[nodiscard]] const Tokens& of(Kind kind) const;
};

// Throws std::invalid_argument if kinds, layers or heads differ, or if no token is aligned. ComparedRows without any
// weight are left out. One pass over the rows of each head: O(N) memory.
Comparison compare(const AttentionTables& a, const AttentionTables& b, ThreadPool& pool,
                   const base::Progress& progress = {});

}  // namespace attn::insight
