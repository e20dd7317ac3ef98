#include "insight/paths/residual.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "insight/blocks/blocks.h"
#include "nn/infer/matrix.h"

namespace attn::insight {

namespace {

constexpr std::int64_t kTaskRows = 64;  // rows per task, so that packing the keys pays off

// Adds the weights of all heads to rows that begin with query `first`.
void add_heads(const AttentionTables& tables, std::int64_t layer, std::int64_t first, View<float, 2> out) {
  const std::int64_t heads = tables.stack(Kind::self).heads;
  for (HeadId head{Kind::self, layer, 0}; head.head < heads; ++head.head) {
    each_block(tables, head, first, out.shape[0], [&](Rectangle at, View<const float, 2> block) {
      for (std::int64_t i = 0; i < block.shape[0]; ++i) {
        float* const to = out.at(at.row - first + i, at.col);
        for (std::int64_t j = 0; j < block.shape[1]; ++j) to[j] += block(i, j);
      }
    });
  }
}

// Turns the sum over heads into a row of A. A row without any weight keeps only the residual part.
void finish_row(float* row, std::int64_t columns, std::int64_t diagonal, std::int64_t heads) {
  double sum = 0;
  for (std::int64_t j = 0; j < columns; ++j) sum += row[j];
  const double all = 0.5 * sum / static_cast<double>(heads) + 0.5;
  const double factor = 0.5 / (static_cast<double>(heads) * all);
  const double past = 0.5 / all;
  for (std::int64_t j = 0; j < columns; ++j)
    row[j] = static_cast<float>(row[j] * factor + (j == diagonal ? past : 0.0));
}

}  // namespace

void check(const AttentionTables& tables, const UpperTokens& upper) {
  const AttentionStack& all = tables.stack(Kind::self);
  if (all.queries != all.keys) {
    throw std::invalid_argument("tokens can only be followed through square tables: these have " +
                                std::to_string(all.queries) + " queries and " + std::to_string(all.keys) + " keys");
  }
  tables.check({Kind::self, upper.layer, 0});
  if (upper.tokens.empty()) throw std::invalid_argument("name at least one token to follow");
  for (const std::int64_t token : upper.tokens) {
    if (token >= 0 && token < all.queries) continue;
    throw std::invalid_argument("there is no token " + std::to_string(token) + ": tokens count from 0 to " +
                                std::to_string(all.queries - 1));
  }
}

void with_residual(const AttentionTables& tables, std::int64_t layer, std::int64_t first, View<float, 2> out,
                   ThreadPool& pool) {
  const AttentionStack& all = tables.stack(Kind::self);
  pool.run((out.shape[0] + kTaskRows - 1) / kTaskRows, [&](std::int64_t task, int) {
    const std::int64_t row = task * kTaskRows;
    const View<float, 2> mine = nn::rows_of(out, row, std::min(kTaskRows, out.shape[0] - row));
    for (std::int64_t i = 0; i < mine.shape[0]; ++i) std::fill_n(mine.at(i), mine.shape[1], 0.0F);
    add_heads(tables, layer, first + row, mine);
    for (std::int64_t i = 0; i < mine.shape[0]; ++i) finish_row(mine.at(i), mine.shape[1], first + row + i, all.heads);
  });
}

}  // namespace attn::insight
