// apps/cli/output/checked.h - checks that the rows of attention tables sum to 1 (insight/statistics/check.h).
#pragma once

#include <memory>

#include "attn/ranks.h"
#include "attn/thread_pool.h"
#include "insight/statistics/check.h"
#include "insight/tables/distributed_tables.h"

namespace attn::cli {

// Shows a progress line.
insight::CheckResult checked(const insight::AttentionTables& tables, ThreadPool& pool);

// A command's tables: whole, or this rank's part if several processes have recorded the text together.
struct RankedTables {
  std::unique_ptr<insight::AttentionTables> whole;   // null if there is a part
  std::unique_ptr<insight::DistributedTables> part;  // null if the tables are whole

  static RankedTables of(const Ranks& ranks, model::Recording recording);
  [[nodiscard]] const insight::AttentionLayout& layout() const;
};

// The check and, for a part, also the statistics if requested: each rank takes some of the heads. Shows a progress
// line. All ranks must call it.
insight::Findings checked(Ranks& ranks, const RankedTables& ranked,
                          const std::optional<insight::StatisticsOptions>& statistics, ThreadPool& pool);

}  // namespace attn::cli
