#include "insight/statistics/check.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/parallel_for.h"
#include "engine/runtime/number_text.h"
#include "insight/blocks/blocks.h"

namespace attn::insight {

std::string short_number(double value) {
  if (std::isnan(value)) return "NaN";
  return number_text(value, std::chars_format::general, 6);
}

namespace {

// Checks the rows of one head, which arrive in parts from left to right.
class HeadCheck {
 public:
  HeadCheck(const AttentionTables& tables, const HeadId& head)
      : tables_(tables), head_(head), keys_(tables.stack(head.kind).keys) {
    if (tables.recording() != nullptr) {
      record_ = &tables.recording()->log.attention(head.kind, head.layer);
      mask_ = record_->rule.mask();
    }
  }

  void check_lse() {
    for (std::int64_t i = 0; record_ != nullptr && i < record_->queries; ++i) {
      const float lse = record_->lse.row(head_.head)[i];
      if (!std::isfinite(lse) && sees_anything(i)) fail(i, "lse is " + short_number(lse) + "; it must be finite");
    }
  }

  void all_rows() {
    sums_.assign(static_cast<std::size_t>(tables_.stack(head_.kind).queries), 0.0);
    each_block(tables_, head_, [&](Rectangle at, View<const float, 2> block) {
      for (std::int64_t r = 0; r < block.shape[0]; ++r)
        sums_[static_cast<std::size_t>(at.row + r)] += part_of_row(at.row + r, at.col, block.at(r), block.shape[1]);
    });
    for (std::size_t i = 0; i < sums_.size(); ++i) check_sum(static_cast<std::int64_t>(i), sums_[i]);
  }

  // Checks evenly spaced strips, at least two, from the first row to the last.
  void some_rows(std::int64_t strips) {
    const std::int64_t queries = tables_.stack(head_.kind).queries;
    ThreadPool alone(1);
    nn::Matrix strip(kCheckedStrip, keys_);
    for (std::int64_t n = 0; n < strips; ++n) {
      const std::int64_t first = n * (queries - kCheckedStrip) / (strips - 1);
      tables_.weights(head_, {first, 0}, strip.view(), alone);
      for (std::int64_t r = 0; r < kCheckedStrip; ++r)
        check_sum(first + r, part_of_row(first + r, 0, strip.row(r), keys_));
    }
  }

  [[nodiscard]] double deviation() const noexcept { return deviation_; }
  [[nodiscard]] const std::optional<CheckFailure>& failure() const noexcept { return failure_; }
  [[nodiscard]] const std::optional<CheckFailure>& no_weight() const noexcept { return no_weight_; }

 private:
  // Keeps the failure of the first row only.
  void fail(std::int64_t row, std::string problem) {
    if (!failure_ || row < failure_->row) failure_ = CheckFailure{head_, row, std::move(problem)};
  }
  void refuse(std::int64_t row, float number) {
    if (!no_weight_ || row < no_weight_->row)
      no_weight_ = CheckFailure{head_, row, short_number(number) + " is not a weight: weights lie between 0 and 1"};
  }

  [[nodiscard]] bool sees_anything(std::int64_t i) const {
    for (std::int64_t j = 0; j < keys_; j += 64) {
      const std::uint64_t inside = keys_ - j < 64 ? (std::uint64_t{1} << (keys_ - j)) - 1 : ~std::uint64_t{0};
      if ((mask_.row(0, head_.head, i, j) & inside) != 0) return true;
    }
    return false;
  }

  double part_of_row(std::int64_t i, std::int64_t col, const float* p, std::int64_t columns) {
    double sum = 0;
    float least = 0, most = 0;
    for (std::int64_t j = 0; j < columns; ++j) {
      sum += p[j];
      least = std::min(least, p[j]);
      most = std::max(most, p[j]);
    }
    const double highest = 1 + bound(i);
    if (!std::isfinite(sum)) {
      refuse(i, *std::find_if_not(p, p + columns, [](float x) { return std::isfinite(x); }));
    } else if (least < 0 || most > highest) {
      fail(i, "a weight is " + short_number(least < 0 ? least : most) + ", outside [0, 1]");
      refuse(i, least < 0 ? least : most);
    }
    if (mask_.cover({0, head_.head, i, i + 1, col, col + columns}) != Cover::all) check_masked(i, col, p, columns);
    return sum;
  }

  void check_masked(std::int64_t i, std::int64_t col, const float* p, std::int64_t columns) {
    for (std::int64_t j = 0; j < columns; ++j) {
      if (p[j] == 0 || mask_.allows(0, head_.head, i, col + j)) continue;
      return fail(i, "key " + std::to_string(col + j) + " is masked, but its weight is " + short_number(p[j]));
    }
  }

  void check_sum(std::int64_t i, double sum) {
    if (!std::isfinite(sum)) return fail(i, "a weight is not finite");
    const double right = sees_anything(i) ? 1 - taken_by_sink(i) : 0;
    const double off = std::fabs(sum - right);
    if (off > (right == 0 ? 0 : bound(i)))
      return fail(i, "the weights sum to " + short_number(sum) + ", not " + short_number(right));
    deviation_ = std::max(deviation_, off);
  }

  // The share of a row that goes to a sink, a logit without a value.
  [[nodiscard]] double taken_by_sink(std::int64_t i) const {
    if (record_ == nullptr || record_->rule.sink == nullptr) return 0;
    return std::exp(static_cast<double>(record_->rule.sink->row(0)[head_.head]) - record_->lse.row(head_.head)[i]);
  }

  [[nodiscard]] double bound(std::int64_t i) const {
    return sum_bound(record_ != nullptr ? record_->lse.row(head_.head)[i] : 0);
  }

  const AttentionTables& tables_;
  HeadId head_;
  std::int64_t keys_;
  const model::AttentionRecord* record_ = nullptr;  // null: a table from a file
  Mask mask_;
  std::vector<double> sums_;
  double deviation_ = 0;
  std::optional<CheckFailure> failure_, no_weight_;
};

}  // namespace

std::string to_string(const CheckFailure& failure) {
  return to_string(failure.head) + ", row " + std::to_string(failure.row) + ": " + failure.problem;
}

std::string in_words(const CheckResult& result) {
  if (result.failure) return to_string(*result.failure);
  const std::string rows = result.rows == result.all_rows
                               ? base::counted(result.rows, "row")
                               : base::grouped(result.rows) + " of " + base::counted(result.all_rows, "row");
  const std::string deviation = number_text(result.deviation, std::chars_format::scientific, 0);
  return rows + " of " + base::counted(result.heads, "head") + " sum" + (result.rows == 1 ? "s" : "") +
         " to 1 within " + deviation + ", masked weights are 0, all are finite";
}

double count_weights(const AttentionLayout& layout) {
  double weights = 0;
  for (const AttentionStack& stack : layout.stacks())
    weights += static_cast<double>(stack.layers * stack.heads) * static_cast<double>(stack.queries * stack.keys);
  return weights;
}

CheckResult check_weights(const AttentionTables& tables, const CheckOptions& options, ThreadPool& pool) {
  const std::vector<HeadId> heads = tables.heads();
  const double weights = options.all_weights > 0 ? options.all_weights : count_weights(tables);
  const double share = std::min(1.0, static_cast<double>(options.most_weights) / weights);
  const auto strips_of = [&](const AttentionStack& stack) {
    return std::max<std::int64_t>(2, std::llround(share * static_cast<double>(stack.queries) / kCheckedStrip));
  };
  const auto rows_of = [&](const AttentionStack& stack) {
    return share < 1 ? std::min(strips_of(stack) * kCheckedStrip, stack.queries) : stack.queries;
  };
  struct Found {
    double deviation = 0;
    std::optional<CheckFailure> failure, no_weight;
  };
  std::vector<Found> found(heads.size());
  base::parallel_for(std::ssize(heads), options.progress, pool, [&](std::int64_t n) {
    const HeadId& head = heads[static_cast<std::size_t>(n)];
    HeadCheck check(tables, head);
    check.check_lse();
    const AttentionStack& stack = tables.stack(head.kind);
    rows_of(stack) < stack.queries ? check.some_rows(strips_of(stack)) : check.all_rows();
    found[static_cast<std::size_t>(n)] = {check.deviation(), check.failure(), check.no_weight()};
  });
  CheckResult result;
  result.heads = std::ssize(heads);
  for (std::size_t n = 0; n < heads.size(); ++n) {
    const AttentionStack& stack = tables.stack(heads[n].kind);
    result.rows += rows_of(stack);
    result.all_rows += stack.queries;
    result.deviation = std::max(result.deviation, found[n].deviation);
    if (!result.failure) result.failure = std::move(found[n].failure);
    if (!result.no_weight) result.no_weight = std::move(found[n].no_weight);
  }
  return result;
}

}  // namespace attn::insight
