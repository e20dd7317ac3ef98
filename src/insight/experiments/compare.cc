#include "insight/experiments/compare.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

#include "base/parallel_for.h"

namespace attn::insight {

namespace {

constexpr std::int64_t kBlockRows = 64;  // rows per call, so that packing the keys pays off

double x_log_x(double x) { return x > 0 ? x * std::log(x) : 0; }

// The rows of one head, requested in increasing order, and the mean entropy of all rows.
class ComparedRows {
 public:
  ComparedRows(const AttentionTables& tables, const HeadId& head)
      : tables_(tables),
        head_(head),
        all_(tables.stack(head.kind)),
        block_(std::min(kBlockRows, all_.queries), all_.keys) {}

  const float* row(std::int64_t i) {
    while (i >= first_ + count_) load();
    return block_.row(i - first_);
  }
  // sum_j p[i,j] ln p[i,j] of the row requested last.
  [[nodiscard]] double log_sum(std::int64_t i) const { return log_sums_[static_cast<std::size_t>(i - first_)]; }

  // Mean over all rows, including those never requested.
  double entropy() {
    while (first_ + count_ < all_.queries) load();
    return entropy_ / static_cast<double>(all_.queries);
  }

 private:
  void load() {
    first_ += count_;
    count_ = std::min(kBlockRows, all_.queries - first_);
    tables_.weights(head_, {first_, 0}, nn::rows_of(block_.view(), 0, count_), alone_);
    for (std::int64_t i = 0; i < count_; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < all_.keys; ++j) sum += x_log_x(block_.row(i)[j]);
      log_sums_[static_cast<std::size_t>(i)] = sum;
      entropy_ -= sum;
    }
  }

  const AttentionTables& tables_;
  HeadId head_;
  const AttentionStack& all_;
  nn::Matrix block_;
  std::vector<double> log_sums_ = std::vector<double>(kBlockRows);
  std::int64_t first_ = 0, count_ = 0;
  double entropy_ = 0;
  ThreadPool alone_{1};
};

// The indices of [0, n) that are not in `aligned`.
std::vector<std::int64_t> others(const std::vector<std::int64_t>& aligned, std::int64_t n) {
  std::vector<std::int64_t> rest;
  auto next = aligned.begin();
  for (std::int64_t i = 0; i < n; ++i) {
    if (next != aligned.end() && *next == i) {
      ++next;
    } else {
      rest.push_back(i);
    }
  }
  return rest;
}

// Sums of one row from which the divergence follows.
struct Bins {
  double elsewhere = 0;  // mass on keys that the other text lacks
  double log_sum = 0;    // sum over bins of x ln x

  Bins(const float* row, double row_log_sum, const std::vector<std::int64_t>& rest) : log_sum(row_log_sum) {
    for (const std::int64_t j : rest) {
      elsewhere += row[j];
      log_sum -= x_log_x(row[j]);
    }
    log_sum += x_log_x(elsewhere);
  }
};

// Averages the divergence over pairs of rows.
class RowPairs {
 public:
  RowPairs(const Alignment& keys, std::int64_t keys_a, std::int64_t keys_b)
      : keys_(keys), rest_a_(others(keys.a, keys_a)), rest_b_(others(keys.b, keys_b)) {}

  void add(const float* p, double p_log_sum, const float* q, double q_log_sum) {
    const Bins a(p, p_log_sum, rest_a_), b(q, q_log_sum, rest_b_);
    double mass_a = a.elsewhere, mass_b = b.elsewhere;
    // middle = sum over bins of (p + q) ln m, m = (p + q) / 2. Then sum p ln p + sum q ln q - middle is twice the
    // divergence.
    double middle = 2 * x_log_x((a.elsewhere + b.elsewhere) / 2);
    double sum = 0;
    for (std::size_t k = 0; k < keys_.a.size(); ++k) {
      const double x = p[keys_.a[k]], y = q[keys_.b[k]];
      mass_a += x;
      mass_b += y;
      sum += x_log_x((x + y) / 2);
    }
    middle += 2 * sum;
    if (mass_a == 0 || mass_b == 0) return;
    const double twice = (a.log_sum + b.log_sum - middle) / std::numbers::ln2;
    change_ += std::clamp(twice / 2, 0.0, 1.0);
    ++count_;
  }

  [[nodiscard]] double mean() const { return count_ == 0 ? 0 : change_ / static_cast<double>(count_); }

 private:
  const Alignment& keys_;
  std::vector<std::int64_t> rest_a_, rest_b_;
  double change_ = 0;
  std::int64_t count_ = 0;
};

HeadChange change_of(const HeadId& head, const AttentionTables& a, const AttentionTables& b,
                     const Comparison::Tokens& tokens) {
  RowPairs pairs(tokens.keys, a.stack(head.kind).keys, b.stack(head.kind).keys);
  ComparedRows rows_a(a, head), rows_b(b, head);
  for (std::size_t k = 0; k < tokens.queries.a.size(); ++k) {
    const std::int64_t i = tokens.queries.a[k], j = tokens.queries.b[k];
    const float* const p = rows_a.row(i);
    const float* const q = rows_b.row(j);
    pairs.add(p, rows_a.log_sum(i), q, rows_b.log_sum(j));
  }
  return {head, pairs.mean(), rows_a.entropy(), rows_b.entropy()};
}

std::string tables_shape(const AttentionTables& tables) {
  std::string words;
  for (const AttentionStack& stack : tables.stacks()) {
    words += (words.empty() ? "" : ", ") + std::to_string(stack.layers) + " layers of " + std::to_string(stack.heads) +
             " heads (" + std::string(name_of(stack.kind)) + ")";
  }
  return words;
}

void check_shapes(const AttentionTables& a, const AttentionTables& b) {
  const auto same = [](const AttentionStack& x, const AttentionStack& y) {
    return x.kind == y.kind && x.layers == y.layers && x.heads == y.heads;
  };
  if (std::ranges::equal(a.stacks(), b.stacks(), same)) return;
  throw std::invalid_argument("only attention of the same shape can be compared: A has " + tables_shape(a) +
                              ", B has " + tables_shape(b));
}

}  // namespace

const Comparison::Tokens& Comparison::of(Kind kind) const { return *std::ranges::find(tokens, kind, &Tokens::kind); }

Comparison compare(const AttentionTables& a, const AttentionTables& b, ThreadPool& pool,
                   const base::Progress& progress) {
  check_shapes(a, b);
  Comparison all;
  for (const AttentionStack& stack : a.stacks()) {
    const Kind kind = stack.kind;
    all.tokens.push_back({kind, align(a.queries(kind), b.queries(kind)), align(a.keys(kind), b.keys(kind))});
    if (all.tokens.back().queries.size() > 0 && all.tokens.back().keys.size() > 0) continue;
    throw std::invalid_argument("A and B have no token in common (attention of kind " + std::string(name_of(kind)) +
                                "): there is nothing to compare");
  }
  const std::vector<HeadId> heads = a.heads();
  all.heads.resize(heads.size());
  base::parallel_for(std::ssize(heads), progress, pool, [&](std::int64_t n) {
    const auto at = static_cast<std::size_t>(n);
    all.heads[at] = change_of(heads[at], a, b, all.of(heads[at].kind));
  });
  std::ranges::stable_sort(all.heads, std::ranges::greater{}, &HeadChange::change);
  return all;
}

}  // namespace attn::insight
