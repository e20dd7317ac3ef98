#include "insight/blocks/picture.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <stdexcept>
#include <vector>

#include "insight/blocks/blocks.h"

namespace attn::insight {

namespace {

// Below every number of a table: tables from users may have negative ones.
constexpr float kNothing = std::numeric_limits<float>::lowest();

void need_numbers(const View<const float, 2>& weights, const HeadId& head) {
  // Tests the exponent bits, which the compiler vectorises: with std::isfinite this took a quarter of an overview's
  // time.
  constexpr std::uint32_t kExponent = 0x7F80'0000;
  std::uint32_t wrong = 0;
  for (std::int64_t i = 0; i < weights.shape[0]; ++i) {
    const float* const row = weights.at(i);
    for (std::int64_t j = 0; j < weights.shape[1]; ++j)
      wrong |= static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(row[j]) & kExponent) == kExponent);
  }
  if (wrong != 0) throw std::invalid_argument("weights of " + to_string(head) + " are not numbers");
}

}  // namespace

Shrinking::Shrinking(const AttentionTables& tables, const HeadId& head, std::int64_t most, Reduce reduce)
    : head_(head) {
  tables.check(head);
  const AttentionStack& all = tables.stack(head.kind);
  picture_ = {.cells = nn::Matrix(std::min(most, all.queries), std::min(most, all.keys)),
              .reduce = reduce,
              .queries = all.queries,
              .keys = all.keys};
  row_of_ = cells_of(all.queries, picture_.cells.rows());
  column_of_ = cells_of(all.keys, picture_.cells.columns());
  const float empty = reduce == Reduce::mean  ? 0.0F
                      : reduce == Reduce::max ? kNothing
                                              : std::numeric_limits<float>::quiet_NaN();
  std::fill_n(picture_.cells.data(), picture_.cells.rows() * picture_.cells.columns(), empty);
}

void Shrinking::take(Rectangle at, const View<const float, 2>& block) {
  if (picture_.reduce != Reduce::farthest) need_numbers(block, head_);
  switch (picture_.reduce) {
    case Reduce::mean:
      return take_by(at, block, std::plus<float>());
    case Reduce::max:
      return take_by(at, block, LargerNumber());
    case Reduce::farthest:
      return take_by(at, block, FartherNumber());
  }
}

template <typename Show>
void Shrinking::take_by(Rectangle at, const View<const float, 2>& block, Show show) {
  const std::int64_t* const row_cells = row_of_.data() + at.row;
  const std::int64_t* const column_cells = column_of_.data() + at.col;
  shrink_into(
      block, [&](std::int64_t i) { return row_cells[i]; }, [&](std::int64_t j) { return column_cells[j]; },
      picture_.cells, show);
}

Picture Shrinking::finish() {
  const std::int64_t rows = picture_.cells.rows(), columns = picture_.cells.columns();
  if (picture_.reduce == Reduce::farthest) return std::move(picture_);
  if (picture_.reduce == Reduce::max) {
    std::replace(picture_.cells.data(), picture_.cells.data() + rows * columns, kNothing, 0.0F);
    return std::move(picture_);
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t height = cell_start(r + 1, rows, picture_.queries) - cell_start(r, rows, picture_.queries);
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t width = cell_start(c + 1, columns, picture_.keys) - cell_start(c, columns, picture_.keys);
      picture_.cells.row(r)[c] /= static_cast<float>(height * width);
    }
  }
  return std::move(picture_);
}

Picture picture(const AttentionTables& tables, const HeadId& head, std::int64_t most, Reduce reduce, ThreadPool& pool) {
  Shrinking shrinking(tables, head, most, reduce);
  if (const AttentionStack& all = tables.stack(head.kind); all.queries > most || all.keys > most) {
    each_block(tables, head, [&](Rectangle at, View<const float, 2> block) { shrinking.take(at, block); });
  } else {
    shrinking.take({}, tables.weights(head, pool).view());
  }
  return shrinking.finish();
}

}  // namespace attn::insight
