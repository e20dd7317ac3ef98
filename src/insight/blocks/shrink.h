// insight/blocks/shrink.h - the one loop that merges numbers into fewer cells: pictures, map tiles, terminal drawings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "attn/view.h"
#include "nn/infer/matrix.h"

namespace attn::insight {

// Where cell `cell` of `cells` begins among `count` rows or columns.
constexpr std::int64_t cell_start(std::int64_t cell, std::int64_t cells, std::int64_t count) noexcept {
  return cell * count / cells;
}

// For each of `count` rows or columns, the index of its cell.
inline std::vector<std::int64_t> cells_of(std::int64_t count, std::int64_t cells) {
  std::vector<std::int64_t> of(static_cast<std::size_t>(count));
  for (std::int64_t cell = 0; cell < cells; ++cell)
    std::fill(of.begin() + cell_start(cell, cells, count), of.begin() + cell_start(cell + 1, cells, count), cell);
  return of;
}

// How a cell combines two numbers. NaN means no number: the other one wins.
struct LargerNumber {
  float operator()(float a, float b) const noexcept { return b > a ? b : a; }
};
struct FartherNumber {
  float operator()(float a, float b) const noexcept { return (b < 0 ? -b : b) > (a < 0 ? -a : a) || a != a ? b : a; }
};

// Combines each number [i, j] of a block with cell [row_cell(i), column_cell(j)]. Both functions never fall.
template <typename RowCell, typename ColumnCell, typename Combine>
void shrink_into(const View<const float, 2>& block, const RowCell& row_cell, const ColumnCell& column_cell,
                 nn::Matrix& cells, Combine combine) {
  // First merge the rows of one cell, which vectorises; then the columns, where each step depends on the one before.
  const std::int64_t columns = block.shape[1];
  std::vector<float> merged(static_cast<std::size_t>(columns));
  for (std::int64_t i = 0, next = 0; i < block.shape[0]; i = next) {
    std::copy_n(block.at(i), columns, merged.data());
    for (next = i + 1; next < block.shape[0] && row_cell(next) == row_cell(i); ++next) {
      const float* const row = block.at(next);
      for (std::int64_t j = 0; j < columns; ++j) merged.data()[j] = combine(merged.data()[j], row[j]);
    }
    float* const to = cells.row(row_cell(i));
    for (std::int64_t j = 0; j < columns; ++j) to[column_cell(j)] = combine(to[column_cell(j)], merged.data()[j]);
  }
}

}  // namespace attn::insight
