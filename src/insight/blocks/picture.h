// insight/blocks/picture.h - a head's table reduced to fit a screen: every cell stands for a rectangle of weights.
#pragma once

#include <cstdint>
#include <vector>

#include "attn/thread_pool.h"
#include "insight/blocks/shrink.h"
#include "insight/tables/attention_tables.h"
#include "nn/infer/matrix.h"

namespace attn::insight {

// How a cell summarises its weights: mean keeps the mass, max keeps what stands out, farthest is the number farthest
// from 0 (NaN if there is none).
enum class Reduce : std::uint8_t { mean, max, farthest };

struct Picture {
  nn::Matrix cells;  // [rows, columns]
  Reduce reduce = Reduce::max;
  std::int64_t queries = 0, keys = 0;  // of the table

  // Whether cells cover more than one weight.
  [[nodiscard]] bool reduced() const noexcept { return cells.rows() < queries || cells.columns() < keys; }
};

// Reduces a table to at most `most` cells in each direction; a smaller table is copied. Cell (r, c) covers the queries
// [r N / rows, (r + 1) N / rows) and the keys likewise. One pass over blocks, O(N) memory beside the result. Throws
// std::invalid_argument, naming the head, if a weight is not a number.
Picture picture(const AttentionTables& tables, const HeadId& head, std::int64_t most, Reduce reduce, ThreadPool& pool);

// The same for a caller that iterates over the head's blocks itself (insight/blocks/blocks.h).
class Shrinking {
 public:
  Shrinking(const AttentionTables& tables, const HeadId& head, std::int64_t most, Reduce reduce);
  // Throws std::invalid_argument as picture() does.
  void take(Rectangle at, const View<const float, 2>& block);
  [[nodiscard]] Picture finish();  // call once, after all blocks

 private:
  template <typename Show>
  void take_by(Rectangle at, const View<const float, 2>& block, Show show);

  HeadId head_;
  Picture picture_;
  std::vector<std::int64_t> row_of_, column_of_;  // the cell of each row and of each column
};

}  // namespace attn::insight
