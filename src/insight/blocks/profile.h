// insight/blocks/profile.h - a head's margins: what every key receives, and how every query spreads.
#pragma once

#include <vector>

#include "attn/thread_pool.h"
#include "insight/tables/attention_tables.h"

namespace attn::insight {

struct Profile {
  std::vector<float> received;  // [M], sums over queries
  std::vector<float> entropy;   // [N], nats; of numbers other than weights, of their shares of the row's sum
};

// One pass over tiles on all threads; the result has the same bits whatever their number.
Profile profile(const AttentionTables& tables, const HeadId& head, ThreadPool& pool);

}  // namespace attn::insight
