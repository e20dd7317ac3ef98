#include "insight/paths/rollout.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace attn::insight {

namespace {

constexpr std::int64_t kBandRows = 256;  // rows of A in memory at a time
constexpr std::int64_t kStrip = 128;     // columns per task

// [chosen tokens, N]: the share of each of N tokens in each chosen token.
struct TokenShares {
  std::int64_t rows, columns;
  std::vector<double> numbers;

  TokenShares(std::int64_t r, std::int64_t c) : rows(r), columns(c), numbers(static_cast<std::size_t>(r * c)) {}
  [[nodiscard]] double* row(std::int64_t i) { return numbers.data() + i * columns; }
  [[nodiscard]] const double* row(std::int64_t i) const { return numbers.data() + i * columns; }
  [[nodiscard]] bool any(std::int64_t first, std::int64_t count) const {
    for (std::int64_t i = 0; i < rows; ++i) {
      if (std::any_of(row(i) + first, row(i) + first + count, [](double share) { return share != 0; })) return true;
    }
    return false;
  }
};

// to += from[:, first : first + R] band. A task owns columns of `to` and adds the rows in order, so the result has the
// same bits for any number of threads.
void add_product(const TokenShares& from, std::int64_t first, const View<const float, 2>& band, TokenShares& to,
                 ThreadPool& pool) {
  pool.run((to.columns + kStrip - 1) / kStrip, [&](std::int64_t strip, int) {
    const std::int64_t col = strip * kStrip, columns = std::min(kStrip, to.columns - col);
    for (std::int64_t t = 0; t < to.rows; ++t) {
      double* const sums = to.row(t) + col;
      for (std::int64_t i = 0; i < band.shape[0]; ++i) {
        const double share = from.row(t)[first + i];
        if (share == 0) continue;
        const float* const below = band.at(i, col);
        for (std::int64_t j = 0; j < columns; ++j) sums[j] += share * below[j];
      }
    }
  });
}

}  // namespace

nn::Matrix rollout(const AttentionTables& tables, const UpperTokens& upper, ThreadPool& pool,
                   const base::Progress& progress) {
  check(tables, upper);
  const std::int64_t n = tables.stack(Kind::self).queries, count = std::ssize(upper.tokens);
  TokenShares shares(count, n);
  for (std::int64_t t = 0; t < count; ++t) shares.row(t)[upper.tokens[static_cast<std::size_t>(t)]] = 1;
  nn::Matrix memory(std::min(kBandRows, n), n);
  for (std::int64_t layer = upper.layer; layer >= 0; --layer) {
    TokenShares below(count, n);
    for (std::int64_t row = 0; row < n; row += kBandRows) {
      base::tell(progress, (upper.layer - layer) * n + row, (upper.layer + 1) * n);
      const View<float, 2> band = nn::rows_of(memory.view(), 0, std::min(kBandRows, n - row));
      if (!shares.any(row, band.shape[0])) continue;  // after all chosen tokens of a causal model
      with_residual(tables, layer, row, band, pool);
      add_product(shares, row, band, below, pool);
    }
    shares = std::move(below);
  }
  nn::Matrix out(count, n);
  std::transform(shares.numbers.begin(), shares.numbers.end(), out.data(),
                 [](double x) { return static_cast<float>(x); });
  return out;
}

nn::Matrix rollout(const AttentionTables& tables, std::int64_t layer, ThreadPool& pool,
                   const base::Progress& progress) {
  const std::int64_t n = tables.stack(Kind::self).queries;
  if (n > kMostRolloutRows) {
    throw std::invalid_argument("a whole rollout table is limited to " + std::to_string(kMostRolloutRows) +
                                " tokens, but the text has " + std::to_string(n) +
                                "; choose tokens (--token), which works for any length");
  }
  UpperTokens all{layer, std::vector<std::int64_t>(static_cast<std::size_t>(n))};
  std::iota(all.tokens.begin(), all.tokens.end(), std::int64_t{0});
  return rollout(tables, all, pool, progress);
}

}  // namespace attn::insight
