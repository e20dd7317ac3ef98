// apps/cli/output/checked.h - tables that check themselves.
#pragma once

#include <memory>

#include "attn/ranks.h"
#include "attn/thread_pool.h"
#include "insight/statistics/check.h"
#include "insight/tables/distributed_tables.h"

namespace attn::cli {

// With a progress line.
insight::CheckResult checked(const insight::Specimen& specimen, ThreadPool& pool);

// What a command looks at: the whole of it, or this rank's part of what several processes have read together.
struct Material {
  std::unique_ptr<insight::Specimen> whole;      // null: there is a part
  std::unique_ptr<insight::SpreadSubject> part;  // null: there is the whole

  static Material of(const Ranks& ranks, model::Reading reading);
  [[nodiscard]] const insight::Subject& subject() const;
};

// The check, and of parts also the statistics, if they are asked for: each rank looks at some heads. With a progress
// line. All ranks must call it.
insight::Findings checked(Ranks& ranks, const Material& material,
                          const std::optional<insight::StatisticsOptions>& statistics, ThreadPool& pool);

}  // namespace attn::cli
