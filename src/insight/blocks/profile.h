// insight/blocks/profile.h - the margins of a head's table: attention received per key, entropy per query.
#pragma once

#include <vector>

#include "attn/thread_pool.h"
#include "insight/tables/attention_tables.h"

namespace attn::insight {

struct Profile {
  std::vector<float> received;  // [M], sums over queries
  std::vector<float> entropy;   // [N], nats; numbers other than weights are divided by their row's sum first
};

// One pass over blocks on all threads. The result has the same bits for any number of threads.
Profile profile(const AttentionTables& tables, const HeadId& head, ThreadPool& pool);

}  // namespace attn::insight
