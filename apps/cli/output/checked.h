// apps/cli/output/checked.h - tables that check themselves.
#pragma once

#include <memory>

#include "attn/ranks.h"
#include "attn/thread_pool.h"
#include "insight/statistics/check.h"
#include "insight/tables/distributed_tables.h"

namespace attn::cli {

// With a progress line.
insight::CheckResult checked(const insight::AttentionTables& tables, ThreadPool& pool);

// What a command looks at: the whole of it, or this rank's part of what several processes have read together.
struct RankedTables {
  std::unique_ptr<insight::AttentionTables> whole;   // null: there is a part
  std::unique_ptr<insight::DistributedTables> part;  // null: there is the whole

  static RankedTables of(const Ranks& ranks, model::Recording recording);
  [[nodiscard]] const insight::AttentionLayout& layout() const;
};

// The check, and of parts also the statistics, if they are asked for: each rank looks at some heads. With a progress
// line. All ranks must call it.
insight::Findings checked(Ranks& ranks, const RankedTables& ranked,
                          const std::optional<insight::StatisticsOptions>& statistics, ThreadPool& pool);

}  // namespace attn::cli
