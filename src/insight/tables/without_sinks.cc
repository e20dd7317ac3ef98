#include "insight/tables/without_sinks.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel_for.h"
#include "insight/blocks/blocks.h"
#include "insight/statistics/token_sets.h"

namespace attn::insight {

namespace {

constexpr float kUnknown = -1;

class WithoutSinks final : public AttentionTables {
 public:
  explicit WithoutSinks(std::shared_ptr<const AttentionTables> inner);

  using AttentionTables::weights;
  [[nodiscard]] const std::vector<text::Token>& queries(Kind kind) const noexcept override {
    return inner_->queries(kind);
  }
  [[nodiscard]] const std::vector<text::Token>& keys(Kind kind) const noexcept override { return inner_->keys(kind); }
  [[nodiscard]] Cover cover(const HeadId& head, const Tile& tile) const override {
    return inner_->cover(head, tile) == Cover::none ? Cover::none : Cover::some;
  }
  [[nodiscard]] bool causal(const HeadId& head) const override { return inner_->causal(head); }
  void weights(const HeadId& head, Rectangle window, View<float, 2> out, ThreadPool& pool) const override;

 private:
  struct Part {
    std::vector<std::int64_t> sinks;  // columns, increasing
    std::int64_t heads = 0;
    // [L H][N]: 1 / the sum left in the row, or 0; kUnknown if not computed yet.
    std::vector<std::vector<float>> factors;
  };
  [[nodiscard]] Part& part(Kind kind) const {
    return parts_[static_cast<std::size_t>(std::ranges::find(stacks(), kind, &AttentionStack::kind) -
                                           stacks().begin())];
  }
  // The factors of the queries [first, first + count), computed if unknown.
  [[nodiscard]] std::vector<float> factors(const HeadId& head, std::int64_t first, std::int64_t count,
                                           ThreadPool& pool) const;
  [[nodiscard]] std::vector<float> find_factors(const HeadId& head, const Part& part, std::int64_t first,
                                                std::int64_t count) const;

  std::shared_ptr<const AttentionTables> inner_;
  mutable std::mutex mutex_;         // guards the factors
  mutable std::vector<Part> parts_;  // in the order of stacks()
};

WithoutSinks::WithoutSinks(std::shared_ptr<const AttentionTables> inner)
    : AttentionTables(inner->stacks()), inner_(std::move(inner)) {
  for (const AttentionStack& stack : stacks()) {
    Part part{{}, stack.heads, std::vector<std::vector<float>>(static_cast<std::size_t>(stack.layers * stack.heads))};
    const std::vector<text::Token>& tokens = inner_->keys(stack.kind);
    for (std::int64_t j = 0; j < std::ssize(tokens); ++j) {
      if (is_sink(tokens, j)) part.sinks.push_back(j);
    }
    parts_.push_back(std::move(part));
  }
}

// Sums the remaining weights instead of subtracting the sinks from 1: for a row that rests on its sinks the difference
// would be mostly rounding, and rows of tables, or of models whose softmax has a sink without a key, do not sum to 1.
std::vector<float> WithoutSinks::find_factors(const HeadId& head, const Part& part, std::int64_t first,
                                              std::int64_t count) const {
  std::vector<double> left(static_cast<std::size_t>(count));
  each_block(*inner_, head, first, count, [&](Rectangle at, View<const float, 2> block) {
    const auto from = std::ranges::lower_bound(part.sinks, at.col);
    const auto to = std::lower_bound(from, part.sinks.end(), at.col + block.shape[1]);
    for (std::int64_t r = 0; r < block.shape[0]; ++r) {
      const float* const row = block.at(r);
      double& sum = left[static_cast<std::size_t>(at.row + r - first)];
      std::int64_t next = at.col;
      for (auto sink = from;; ++sink) {
        const std::int64_t end = sink == to ? at.col + block.shape[1] : *sink;
        sum += std::accumulate(row + (next - at.col), row + (end - at.col), 0.0);
        if (sink == to) break;
        next = end + 1;
      }
    }
  });
  std::vector<float> factors;
  for (const double sum : left) factors.push_back(sum > kLeastLeft ? static_cast<float>(1 / sum) : 0.0F);
  return factors;
}

std::vector<float> WithoutSinks::factors(const HeadId& head, std::int64_t first, std::int64_t count,
                                         ThreadPool& pool) const {
  constexpr std::int64_t kBand = 64;  // rows per task, so that packing the keys pays off
  Part& all = part(head.kind);
  const std::int64_t queries = stack(head.kind).queries;
  std::unique_lock lock(mutex_);
  std::vector<float>& known = all.factors[static_cast<std::size_t>(head.layer * all.heads + head.head)];
  if (known.empty()) known.assign(static_cast<std::size_t>(queries), kUnknown);
  const auto copy = [&] { return std::vector<float>(known.begin() + first, known.begin() + first + count); };
  std::vector<float> found = copy();
  if (std::ranges::find(found, kUnknown) == found.end()) return found;
  lock.unlock();
  // Unlocked: a concurrent call may do the same work, but computes the same numbers.
  base::parallel_for((count + kBand - 1) / kBand, {}, pool, [&](std::int64_t band) {
    const std::int64_t from = band * kBand, rows = std::min(kBand, count - from);
    if (std::none_of(found.begin() + from, found.begin() + from + rows, [](float f) { return f == kUnknown; })) return;
    std::ranges::copy(find_factors(head, all, first + from, rows), found.begin() + from);
  });
  lock.lock();
  std::ranges::copy(found, known.begin() + first);
  return found;
}

void WithoutSinks::weights(const HeadId& head, Rectangle window, View<float, 2> out, ThreadPool& pool) const {
  const std::vector<float> by = factors(head, window.row, out.shape[0], pool);
  inner_->weights(head, window, out, pool);
  const std::vector<std::int64_t>& sinks = part(head.kind).sinks;
  const auto from = std::ranges::lower_bound(sinks, window.col);
  const auto to = std::lower_bound(from, sinks.end(), window.col + out.shape[1]);
  for (std::int64_t i = 0; i < out.shape[0]; ++i) {
    for (std::int64_t j = 0; j < out.shape[1]; ++j) out(i, j) *= by[static_cast<std::size_t>(i)];
    for (auto sink = from; sink != to; ++sink) out(i, *sink - window.col) = 0;
  }
}

}  // namespace

bool is_sink(const std::vector<text::Token>& keys, std::int64_t key) {
  return key == 0 || is_special(keys[static_cast<std::size_t>(key)]);
}

std::unique_ptr<AttentionTables> without_sinks(std::shared_ptr<const AttentionTables> tables) {
  if (tables->numbers() != Numbers::weights) {
    throw std::invalid_argument("sinks can only be removed from weights: these are " +
                                std::string(name_of(tables->numbers())));
  }
  return std::make_unique<WithoutSinks>(std::move(tables));
}

}  // namespace attn::insight
