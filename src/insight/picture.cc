#include "insight/picture.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "insight/tiles.h"

namespace attn::insight {

namespace {

// To which of `cells` each of `count` rows or columns belongs.
std::vector<std::int64_t> cells_of(std::int64_t count, std::int64_t cells) {
  std::vector<std::int64_t> of(static_cast<std::size_t>(count));
  for (std::int64_t cell = 0; cell < cells; ++cell) {
    for (std::int64_t i = cell_start(cell, cells, count); i < cell_start(cell + 1, cells, count); ++i)
      of[static_cast<std::size_t>(i)] = cell;
  }
  return of;
}

void need_numbers(const View<const float, 2>& weights, const HeadName& head) {
  bool finite = true;
  for (std::int64_t i = 0; i < weights.shape[0]; ++i) {
    for (std::int64_t j = 0; j < weights.shape[1]; ++j) finite &= std::isfinite(weights.at(i)[j]);
  }
  if (!finite) throw std::invalid_argument("weights of " + to_string(head) + " are not numbers");
}

void shrink(const Specimen& specimen, const HeadName& head, Picture& to) {
  const std::int64_t rows = to.cells.rows(), columns = to.cells.columns();
  const std::vector<std::int64_t> row_of = cells_of(to.queries, rows), column_of = cells_of(to.keys, columns);
  // Somebody's own table may have numbers below 0.
  constexpr float kNothing = std::numeric_limits<float>::lowest();
  std::fill_n(to.cells.data(), rows * columns, to.reduce == Reduce::mean ? 0.0F : kNothing);
  each_tile(specimen, head, [&](Rectangle at, View<const float, 2> tile) {
    need_numbers(tile, head);
    for (std::int64_t i = 0; i < tile.shape[0]; ++i) {
      float* const cells = to.cells.row(row_of[static_cast<std::size_t>(at.row + i)]);
      const float* const from = tile.at(i);
      const std::int64_t* const column = column_of.data() + at.col;
      if (to.reduce == Reduce::mean) {
        for (std::int64_t j = 0; j < tile.shape[1]; ++j) cells[column[j]] += from[j];
      } else {
        for (std::int64_t j = 0; j < tile.shape[1]; ++j) cells[column[j]] = std::max(cells[column[j]], from[j]);
      }
    }
  });
  if (to.reduce == Reduce::max) return std::replace(to.cells.data(), to.cells.data() + rows * columns, kNothing, 0.0F);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t height = cell_start(r + 1, rows, to.queries) - cell_start(r, rows, to.queries);
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t width = cell_start(c + 1, columns, to.keys) - cell_start(c, columns, to.keys);
      to.cells.row(r)[c] /= static_cast<float>(height * width);
    }
  }
}

}  // namespace

Picture picture(const Specimen& specimen, const HeadName& head, std::int64_t most, Reduce reduce, ThreadPool& pool) {
  specimen.check(head);
  const Stack& all = specimen.stack(head.kind);
  Picture picture{.cells = nn::Matrix(std::min(most, all.queries), std::min(most, all.keys)),
                  .reduce = reduce,
                  .queries = all.queries,
                  .keys = all.keys};
  if (picture.reduced()) {
    shrink(specimen, head, picture);
  } else {
    specimen.weights(head, {}, picture.cells.view(), pool);
    need_numbers(picture.cells.view(), head);
  }
  return picture;
}

}  // namespace attn::insight
