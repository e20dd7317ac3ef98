// insight/tables/distributed_tables.h - a text that several processes have read together: each has some rows of all
// heads, and looks at all rows of some heads.
#pragma once

#include <optional>
#include <vector>

#include "attn/ranks.h"
#include "attn/thread_pool.h"
#include "base/progress.h"
#include "insight/statistics/check.h"
#include "insight/statistics/statistics.h"
#include "insight/tables/attention_tables.h"
#include "model/recording/recording.h"

namespace attn::insight {

// A reading of which this rank has its part (model::RecordOptions::ranks); the stacks are those of the whole.
class DistributedTables final : public AttentionLayout {
 public:
  explicit DistributedTables(model::Recording part);

  [[nodiscard]] const std::vector<text::Token>& queries(Kind kind) const noexcept override;
  [[nodiscard]] const std::vector<text::Token>& keys(Kind kind) const noexcept override;
  // Its recording and hidden states are this rank's rows.
  [[nodiscard]] const model::Recording* recording() const noexcept override { return &part_; }

 private:
  model::Recording part_;
};

struct ExamineOptions {
  CheckOptions check = {};                        // its progress is not told
  std::optional<StatisticsOptions> statistics{};  // none: not asked for. Neither is its progress; `also` is not called
  base::Progress progress = {};                   // in heads of all ranks
};

struct Findings {
  CheckResult check;                       // the same on every rank
  std::vector<HeadStatistics> statistics;  // on rank 0; empty elsewhere
};

// check_weights() and statistics() of the whole; all ranks must call it. In rounds, each gets all rows of as many heads
// as it has threads: memory beside its own part is twice that of these heads' Q and K. Numbers are those of one process
// that has the same recording.
Findings examine(Ranks& ranks, const DistributedTables& layout, const ExamineOptions& options, ThreadPool& pool);

}  // namespace attn::insight
