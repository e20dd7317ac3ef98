// insight/blocks/blocks.h - a pass over a table of weights, a part of it at a time.
#pragma once

#include <cstdint>
#include <functional>

#include "attn/thread_pool.h"
#include "insight/tables/attention_tables.h"

namespace attn::insight {

inline constexpr std::int64_t kTileQueries = 256;
inline constexpr std::int64_t kTileColumns = 512;  // together 512 kB: they stay in a core's cache

// Part of a table: weights [R, C] of the queries from window.row on and the keys from window.col on.
using TakeBlock = std::function<void(Rectangle window, View<const float, 2> weights)>;

struct TableWindow {
  std::int64_t row = 0, rows = 0, column = 0, columns = 0;
};

// All tiles of one head, row by row of tiles, from left to right; those that the mask rules out are left out. Runs on
// the calling thread alone: whoever has many heads gives a head to each thread.
void each_block(const AttentionTables& tables, const HeadId& head, const TakeBlock& take);
// The same for the queries [first, first + count), and for a part of these.
void each_block(const AttentionTables& tables, const HeadId& head, std::int64_t first, std::int64_t count,
                const TakeBlock& take);
void each_block(const AttentionTables& tables, const HeadId& head, const TableWindow& window, const TakeBlock& take);

}  // namespace attn::insight
