#include "insight/tables/difference.h"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

namespace attn::insight {

namespace {

std::vector<AttentionStack> aligned_stacks(const AttentionTables& tables, const Comparison& comparison) {
  std::vector<AttentionStack> stacks = tables.stacks();
  for (AttentionStack& stack : stacks) {
    stack.queries = comparison.of(stack.kind).queries.size();
    stack.keys = comparison.of(stack.kind).keys.size();
  }
  return stacks;
}

std::vector<text::Token> chosen(const std::vector<text::Token>& tokens, const std::vector<std::int64_t>& which) {
  std::vector<text::Token> out;
  for (const std::int64_t i : which) out.push_back(tokens[static_cast<std::size_t>(i)]);
  return out;
}

// One of the two tables. add() adds sign times its rows [at.row, + R) and aligned columns [at.col, + C).
struct Side {
  const AttentionTables& tables;
  const std::vector<std::int64_t>& columns;

  void add(const HeadId& head, Rectangle at, float sign, View<float, 2> out, ThreadPool& pool) const {
    const std::int64_t* const column = columns.data() + at.col;
    const std::int64_t first = column[0], width = column[out.shape[1] - 1] + 1 - first;
    nn::Matrix part(out.shape[0], width);
    tables.weights(head, {at.row, first}, part.view(), pool);
    for (std::int64_t i = 0; i < out.shape[0]; ++i) {
      for (std::int64_t j = 0; j < out.shape[1]; ++j) out(i, j) += sign * part.row(i)[column[j] - first];
    }
  }
};

class Difference final : public AttentionTables {
 public:
  Difference(const AttentionTables& a, const AttentionTables& b, const Comparison& comparison)
      : AttentionTables(aligned_stacks(a, comparison)), a_(a), b_(b), comparison_(comparison) {
    for (const Comparison::Tokens& tokens : comparison.tokens) {
      queries_.push_back(chosen(a.queries(tokens.kind), tokens.queries.a));
      keys_.push_back(chosen(a.keys(tokens.kind), tokens.keys.a));
    }
  }

  using AttentionTables::weights;
  [[nodiscard]] const std::vector<text::Token>& queries(Kind kind) const noexcept override {
    return queries_[number_of(kind)];
  }
  [[nodiscard]] const std::vector<text::Token>& keys(Kind kind) const noexcept override {
    return keys_[number_of(kind)];
  }
  [[nodiscard]] bool causal(const HeadId& head) const override { return a_.causal(head) && b_.causal(head); }

  [[nodiscard]] Numbers numbers() const noexcept override { return Numbers::differences; }

  // Reads runs of rows that are consecutive in both texts at once.
  void weights(const HeadId& head, Rectangle window, View<float, 2> out, ThreadPool& pool) const override {
    const Comparison::Tokens& tokens = comparison_.of(head.kind);
    const std::int64_t* const a = tokens.queries.a.data() + window.row;
    const std::int64_t* const b = tokens.queries.b.data() + window.row;
    for (std::int64_t row = 0, run = 1; row < out.shape[0]; row += run, run = 1) {
      while (row + run < out.shape[0] && a[row + run] == a[row] + run && b[row + run] == b[row] + run) ++run;
      const View<float, 2> part = nn::rows_of(out, row, run);
      for (std::int64_t i = 0; i < run; ++i) std::fill_n(part.at(i), part.shape[1], 0.0F);
      Side{a_, tokens.keys.a}.add(head, {a[row], window.col}, 1, part, pool);
      Side{b_, tokens.keys.b}.add(head, {b[row], window.col}, -1, part, pool);
    }
  }

 private:
  [[nodiscard]] std::size_t number_of(Kind kind) const noexcept {
    return static_cast<std::size_t>(&comparison_.of(kind) - comparison_.tokens.data());
  }

  const AttentionTables& a_;
  const AttentionTables& b_;
  const Comparison& comparison_;
  std::vector<std::vector<text::Token>> queries_, keys_;  // per kind, in the order of comparison_.tokens
};

class DifferenceOnA final : public AttentionTables {
 public:
  DifferenceOnA(const AttentionTables& a, const AttentionTables& b, const Comparison& comparison)
      : AttentionTables(a.stacks()), a_(a), comparison_(comparison), aligned_(a, b, comparison) {}

  using AttentionTables::weights;
  [[nodiscard]] const std::vector<text::Token>& queries(Kind kind) const noexcept override { return a_.queries(kind); }
  [[nodiscard]] const std::vector<text::Token>& keys(Kind kind) const noexcept override { return a_.keys(kind); }
  [[nodiscard]] bool causal(const HeadId& head) const override { return aligned_.causal(head); }
  [[nodiscard]] Numbers numbers() const noexcept override { return Numbers::differences; }

  void weights(const HeadId& head, Rectangle window, View<float, 2> out, ThreadPool& pool) const override {
    for (std::int64_t i = 0; i < out.shape[0]; ++i)
      std::fill_n(out.at(i), out.shape[1], std::numeric_limits<float>::quiet_NaN());
    const Comparison::Tokens& tokens = comparison_.of(head.kind);
    const Places rows(tokens.queries.a, window.row, out.shape[0]), columns(tokens.keys.a, window.col, out.shape[1]);
    if (rows.which.empty() || columns.which.empty()) return;
    nn::Matrix part(std::ssize(rows.which), std::ssize(columns.which));
    aligned_.weights(head, {rows.first, columns.first}, part.view(), pool);
    for (std::int64_t r = 0; r < part.rows(); ++r) {
      float* const row = out.at(rows.which[static_cast<std::size_t>(r)] - window.row);
      for (std::int64_t c = 0; c < part.columns(); ++c)
        row[columns.which[static_cast<std::size_t>(c)] - window.col] = part.row(r)[c];
    }
  }

 private:
  // The aligned tokens in [from, from + count), and the index of the first one among all aligned tokens.
  struct Places {
    std::int64_t first = 0;
    std::span<const std::int64_t> which;

    Places(const std::vector<std::int64_t>& aligned, std::int64_t from, std::int64_t count) {
      const auto begin = std::ranges::lower_bound(aligned, from);
      first = begin - aligned.begin();
      which = {begin, std::lower_bound(begin, aligned.end(), from + count)};
    }
  };

  const AttentionTables& a_;
  const Comparison& comparison_;
  Difference aligned_;
};

}  // namespace

std::unique_ptr<AttentionTables> difference_on_a(const AttentionTables& a, const AttentionTables& b,
                                                 const Comparison& comparison) {
  return std::make_unique<DifferenceOnA>(a, b, comparison);
}

std::unique_ptr<AttentionTables> difference(const AttentionTables& a, const AttentionTables& b,
                                            const Comparison& comparison) {
  return std::make_unique<Difference>(a, b, comparison);
}

}  // namespace attn::insight
