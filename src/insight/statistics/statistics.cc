#include "insight/statistics/statistics.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/parallel_for.h"
#include "engine/kernels/attention/tile_statistics.h"
#include "insight/blocks/blocks.h"
#include "insight/statistics/baseline.h"

namespace attn::insight {

namespace {

// Sums over the blocks of one head.
class HeadTally {
 public:
  HeadTally(const TokenSets& sets, std::int64_t beyond)
      : sets_(sets),
        beyond_(beyond),
        rows_(static_cast<std::size_t>(sets.queries)),
        received_(static_cast<std::size_t>(sets.keys)),
        diagonal_(static_cast<std::size_t>(std::min(sets.queries, sets.keys))) {}

  void take(Rectangle at, View<const float, 2> block) {
    kernels::tile_statistics({.weights = {block.data, block.strides[0]},
                              .rows = block.shape[0],
                              .columns = block.shape[1],
                              .query = at.row,
                              .key = at.col,
                              .beyond = beyond_,
                              .by_row = rows_.data() + at.row,
                              .received = received_.data() + at.col});
    for (std::int64_t r = 0; r < block.shape[0]; ++r) {
      add_band(at.row + r, at.col, block.shape[1], block.at(r));
      add_repeats(at.row + r, at.col, at.col + block.shape[1], block.at(r));
    }
  }

  [[nodiscard]] HeadStatistics result(const VisibleKeys& visible) const {
    HeadStatistics out;
    out.queries = sets_.queries;
    out.keys = sets_.keys;
    Shares sums = sums_;
    std::int64_t choices = 0;  // queries that may see several keys
    for (std::int64_t i = 0; i < sets_.queries; ++i) {
      const kernels::RowStatistics& row = rows_[static_cast<std::size_t>(i)];
      out.entropy += row.entropy;
      out.distance += row.distance;
      sums.beyond += row.beyond;
      out.outgoing.push_back(static_cast<float>(row.mass));
      const std::int64_t seen = visible.to(i) - visible.from(i);
      if (seen < 2) continue;
      out.entropy_share += row.entropy / std::log(static_cast<double>(seen));
      ++choices;
    }
    const auto queries = static_cast<double>(sets_.queries);
    out.entropy /= queries;
    out.distance /= queries;
    if (choices > 0) out.entropy_share /= static_cast<double>(choices);
    for (std::size_t j = 0; j < received_.size(); ++j) {
      if (sets_.separators[j]) sums.separators += received_[j];
      if (sets_.punctuation[j]) sums.punctuation += received_[j];
    }
    sums.first = received_.front();
    for (std::int64_t o = -kNear; o <= kNear; ++o) sums.near += sums.offset(o);
    out.shares = means_of(sums, sets_);
    out.received.assign(received_.begin(), received_.end());
    out.diagonal = diagonal_;
    out.duplicate_queries = sets_.duplicate_queries;
    out.induction_queries = sets_.induction_queries;
    return out;
  }

 private:
  // Adds the weights around the diagonal; `p` is row i from key `col` on.
  void add_band(std::int64_t i, std::int64_t col, std::int64_t columns, const float* p) {
    const std::int64_t from = std::max(col, i - kFarthestOffset);
    const std::int64_t to = std::min(col + columns, i + kFarthestOffset + 1);
    for (std::int64_t j = from; j < to; ++j)
      sums_.offsets[static_cast<std::size_t>(j - i + kFarthestOffset)] += p[j - col];
    if (i >= from && i < to) diagonal_[static_cast<std::size_t>(i)] = p[i - col];
  }

  void add_repeats(std::int64_t i, std::int64_t from, std::int64_t to, const float* p) {
    sets_.each_duplicate(i, from, to, [&](std::int64_t j) { sums_.duplicate += p[j - from]; });
    sets_.each_follower(i, from, to, [&](std::int64_t j) { sums_.induction += p[j - from]; });
  }

  const TokenSets& sets_;
  std::int64_t beyond_;
  std::vector<kernels::RowStatistics> rows_;
  std::vector<double> received_;
  std::vector<float> diagonal_;
  Shares sums_;
};

HeadStatistics head_statistics(const AttentionTables& tables, const HeadId& name, const TokenSets& sets,
                               std::int64_t beyond, const TakeBlock& also) {
  HeadTally tally(sets, beyond);
  each_block(tables, name, [&](Rectangle at, View<const float, 2> block) {
    tally.take(at, block);
    if (also) also(at, block);
  });
  HeadStatistics head = tally.result(visible_keys(tables, name));
  head.name = name;
  return head;
}

// Adds the baseline. Neighbouring heads mostly see the same keys, so it is computed only when that changes.
void add_even(const AttentionTables& tables, const TokenSets& sets, std::int64_t beyond,
              std::span<HeadStatistics> heads) {
  std::optional<VisibleKeys> last;
  Shares even;
  for (HeadStatistics& head : heads) {
    const VisibleKeys visible = visible_keys(tables, head.name);
    if (!last || *last != visible) even = even_shares(sets, visible, beyond);
    last = visible;
    head.even = even;
  }
}

void add_numbers(std::vector<double>& sums, const std::vector<float>& numbers) {
  sums.resize(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) sums[i] += numbers[i];
}

std::vector<float> divided(const std::vector<double>& sums, double by) {
  std::vector<float> out;
  for (const double sum : sums) out.push_back(static_cast<float>(sum / by));
  return out;
}

}  // namespace

std::vector<HeadStatistics> statistics(const AttentionTables& tables, const StatisticsOptions& options,
                                       ThreadPool& pool) {
  std::vector<AttentionStack> stacks = tables.stacks();
  if (options.kind) stacks = {tables.stack(*options.kind)};
  std::int64_t total = 0, done = 0;
  for (const AttentionStack& stack : stacks) total += stack.layers * stack.heads;
  std::vector<HeadStatistics> heads(static_cast<std::size_t>(total));
  for (const AttentionStack& stack : stacks) {
    const TokenSets sets(tables, stack);
    const std::int64_t count = stack.layers * stack.heads;
    const auto here = std::span(heads).subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(count));
    const auto progress = [&](std::int64_t of_stack, std::int64_t) {
      base::tell(options.progress, done + of_stack, total);
    };
    base::parallel_for(count, progress, pool, [&](std::int64_t n) {
      const HeadId name{stack.kind, n / stack.heads, n % stack.heads};
      TakeBlock also;
      if (options.also) also = [&](Rectangle at, View<const float, 2> block) { options.also(done + n, at, block); };
      here[static_cast<std::size_t>(n)] = head_statistics(tables, name, sets, options.beyond, also);
    });
    add_even(tables, sets, options.beyond, here);
    done += count;
  }
  return heads;
}

std::vector<LayerStatistics> layer_statistics(const std::vector<HeadStatistics>& heads) {
  std::vector<LayerStatistics> layers;
  for (auto first = heads.begin(); first != heads.end();) {
    const auto last = std::find_if(first, heads.end(), [&](const HeadStatistics& head) {
      return head.name.kind != first->name.kind || head.name.layer != first->name.layer;
    });
    const auto count = static_cast<double>(last - first);
    LayerStatistics layer;
    layer.kind = first->name.kind;
    layer.layer = first->name.layer;
    std::vector<double> received, outgoing, diagonal;
    for (auto head = first; head != last; ++head) {
      layer.entropy += head->entropy / count;
      add_numbers(received, head->received);
      add_numbers(outgoing, head->outgoing);
      add_numbers(diagonal, head->diagonal);
    }
    layer.received = divided(received, count);
    layer.outgoing = divided(outgoing, count);
    layer.diagonal = divided(diagonal, count);
    layers.push_back(std::move(layer));
    first = last;
  }
  return layers;
}

}  // namespace attn::insight
