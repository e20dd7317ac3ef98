// insight/blocks/picture.h - a head's table made smaller: every cell stands for a rectangle of weights.
#pragma once

#include <cstdint>
#include <vector>

#include "attn/thread_pool.h"
#include "insight/tables/attention_tables.h"
#include "nn/infer/matrix.h"

namespace attn::insight {

// What one cell says of the weights in it. mean keeps the mass, max keeps what stands out; farthest is the number that
// is farthest from 0, and NaN where there is none.
enum class Reduce : std::uint8_t { mean, max, farthest };

struct Picture {
  nn::Matrix cells;  // [rows, columns]
  Reduce reduce = Reduce::max;
  std::int64_t queries = 0, keys = 0;  // of the table

  // Whether a cell is more than one weight.
  [[nodiscard]] bool reduced() const noexcept { return cells.rows() < queries || cells.columns() < keys; }
};

// At most `most` cells in each direction; a table that is smaller comes as it is. Cell (r, c) covers the queries
// [r N / rows, (r + 1) N / rows) and the keys likewise. One pass over tiles: O(N) memory beside the result. Throws
// std::invalid_argument that names the head if a weight is not a number.
Picture picture(const AttentionTables& tables, const HeadId& head, std::int64_t most, Reduce reduce, ThreadPool& pool);

// The same while somebody else goes over the head's tiles (insight/blocks/blocks.h).
class Shrinking {
 public:
  Shrinking(const AttentionTables& tables, const HeadId& head, std::int64_t most, Reduce reduce);
  // Throws std::invalid_argument as picture() does.
  void take(Rectangle at, const View<const float, 2>& tile);
  [[nodiscard]] Picture finish();  // all tiles have been taken

 private:
  template <typename Show>
  void take_by(Rectangle at, const View<const float, 2>& tile, Show show);

  HeadId head_;
  Picture picture_;
  std::vector<std::int64_t> row_of_, column_of_;  // to which cell each row and each column belongs
};

// Where cell `cell` of `cells` begins among `count` rows or columns.
constexpr std::int64_t cell_start(std::int64_t cell, std::int64_t cells, std::int64_t count) noexcept {
  return cell * count / cells;
}

}  // namespace attn::insight
