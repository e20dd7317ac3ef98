#include "apps/cli/output/checked.h"

#include <utility>

#include "apps/cli/command.h"
#include "apps/cli/output/progress.h"

namespace attn::cli {

insight::CheckResult checked(const insight::AttentionTables& tables, ThreadPool& pool) {
  ProgressLine line;
  const auto progress = [&](std::int64_t done, std::int64_t total) { line.count(done, total, "checking head"); };
  return insight::check_weights(tables, {.progress = progress}, pool);
}

RankedTables RankedTables::of(const Ranks& ranks, model::Recording recording) {
  if (ranks.size() == 1) return {std::make_unique<insight::RecordedTables>(std::move(recording)), nullptr};
  return {nullptr, std::make_unique<insight::DistributedTables>(std::move(recording))};
}

const insight::AttentionLayout& RankedTables::layout() const {
  if (whole) return *whole;
  return *part;
}

insight::Findings checked(Ranks& ranks, const RankedTables& ranked,
                          const std::optional<insight::StatisticsOptions>& statistics, ThreadPool& pool) {
  if (ranked.whole) return {checked(*ranked.whole, pool), {}};
  ProgressLine line;
  const auto progress = [&](std::int64_t done, std::int64_t total) {
    if (interrupted()) throw Interrupted();
    if (ranks.rank() == 0) line.count(done, total, statistics ? "head" : "checking head");
  };
  return insight::examine(ranks, *ranked.part, {.check = {}, .statistics = statistics, .progress = progress}, pool);
}

}  // namespace attn::cli
