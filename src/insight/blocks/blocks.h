// insight/blocks/blocks.h - iterates over a head's table block by block, so that the whole table never exists.
#pragma once

#include <cstdint>
#include <functional>

#include "attn/thread_pool.h"
#include "insight/tables/attention_tables.h"

namespace attn::insight {

inline constexpr std::int64_t kBlockQueries = 256;
inline constexpr std::int64_t kBlockColumns = 512;  // a block takes 512 kB, which stays in a core's cache

// Called with one block: weights [R, C] of the queries from window.row on and the keys from window.col on. The memory
// is reused for the next block.
using TakeBlock = std::function<void(Rectangle window, View<const float, 2> weights)>;

struct TableWindow {
  std::int64_t row = 0, rows = 0, column = 0, columns = 0;
};

// Calls `take` for all blocks of one head, top to bottom and left to right. Skips blocks in which the mask allows
// nothing. Runs on the calling thread only: to use all threads, give each one a head.
void each_block(const AttentionTables& tables, const HeadId& head, const TakeBlock& take);
// The same for the queries [first, first + count), or for one window of the table.
void each_block(const AttentionTables& tables, const HeadId& head, std::int64_t first, std::int64_t count,
                const TakeBlock& take);
void each_block(const AttentionTables& tables, const HeadId& head, const TableWindow& window, const TakeBlock& take);

}  // namespace attn::insight
