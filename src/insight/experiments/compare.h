// insight/experiments/compare.h - compares two recordings: which heads attend differently.
//
// change of a head = mean over aligned queries of JSD(row of A, row of B)
//
// JSD is the Jensen-Shannon divergence with logarithms of base 2: 0 for equal distributions, 1 for disjoint ones. Its
// bins are the aligned keys and one more, "elsewhere", for all keys that the other text lacks.
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
  std::vector<Tokens> tokens;     // per kind, in the order of the tables' stacks
  std::vector<HeadChange> heads;  // most changed first

  // The kind must exist.
  [[nodiscard]] const Tokens& of(Kind kind) const;
};

// Throws std::invalid_argument if kinds, layers or heads differ, or if no token is aligned. Rows without any weight are
// left out. One pass over the rows of each head, O(N) memory.
Comparison compare(const AttentionTables& a, const AttentionTables& b, ThreadPool& pool,
                   const base::Progress& progress = {});

}  // namespace attn::insight
