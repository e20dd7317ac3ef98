#include "insight/blocks/blocks.h"

#include <algorithm>

namespace attn::insight {

void each_block(const AttentionTables& tables, const HeadId& head, const TakeBlock& take) {
  each_block(tables, head, 0, tables.stack(head.kind).queries, take);
}

void each_block(const AttentionTables& tables, const HeadId& head, std::int64_t first, std::int64_t count,
                const TakeBlock& take) {
  each_block(tables, head, {first, count, 0, tables.stack(head.kind).keys}, take);
}

void each_block(const AttentionTables& tables, const HeadId& head, const TableWindow& window, const TakeBlock& take) {
  const std::int64_t last_row = window.row + window.rows, last_column = window.column + window.columns;
  ThreadPool alone(1);
  nn::Matrix memory(std::min(kBlockQueries, window.rows), std::min(kBlockColumns, window.columns));
  for (std::int64_t row = window.row; row < last_row; row += kBlockQueries) {
    const std::int64_t rows = std::min(kBlockQueries, last_row - row);
    for (std::int64_t col = window.column; col < last_column; col += kBlockColumns) {
      const std::int64_t columns = std::min(kBlockColumns, last_column - col);
      if (tables.cover(head, {0, head.head, row, row + rows, col, col + columns}) == Cover::none) continue;
      const View<float, 2> block{memory.data(), {rows, columns}, {memory.columns(), 1}};
      tables.weights(head, {row, col}, block, alone);
      take({row, col}, block);
    }
  }
}

}  // namespace attn::insight
