#include "figure/scene/reduce.h"

#include <algorithm>
#include <cmath>

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
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = r * cells.rows() / rows; i < (r + 1) * cells.rows() / rows; ++i) {
      for (std::int64_t c = 0; c < columns; ++c) {
        float& most = small.row(r)[c];
        for (std::int64_t j = c * cells.columns() / columns; j < (c + 1) * cells.columns() / columns; ++j) {
          if (std::abs(cells.row(i)[j]) > std::abs(most)) most = cells.row(i)[j];
        }
      }
    }
  }
  return small;
}

}  // namespace attn::figure
