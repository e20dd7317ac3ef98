#include "figure/scene/reduce.h"

#include <algorithm>
#include <vector>

#include "insight/blocks/shrink.h"

namespace attn::figure {

namespace {

std::string part(std::int64_t count, std::int64_t cells) {
  const std::int64_t small = count / cells;
  return std::to_string(small) + (count % cells == 0 ? "" : " or " + std::to_string(small + 1));
}

}  // namespace

std::string part_sizes(Shape<2> table, Shape<2> cells) {
  return part(table[0], cells[0]) + " x " + part(table[1], cells[1]);
}

nn::Matrix largest(const nn::Matrix& cells, std::int64_t rows, std::int64_t columns) {
  rows = std::min(rows, cells.rows());
  columns = std::min(columns, cells.columns());
  nn::Matrix small(rows, columns);
  std::fill_n(small.data(), rows * columns, 0.0F);
  const std::vector<std::int64_t> row_cells = insight::cells_of(cells.rows(), rows);
  const std::vector<std::int64_t> column_cells = insight::cells_of(cells.columns(), columns);
  insight::shrink_into(
      cells.view(), [&](std::int64_t i) { return row_cells[static_cast<std::size_t>(i)]; },
      [&](std::int64_t j) { return column_cells[static_cast<std::size_t>(j)]; }, small, insight::FartherNumber());
  return small;
}

}  // namespace attn::figure
