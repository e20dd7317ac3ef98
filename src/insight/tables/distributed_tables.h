// insight/tables/distributed_tables.h - a recording distributed over ranks: each rank holds some rows of all heads, and
// examines all rows of some heads.
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

// A distributed recording, of which this rank holds a part (model::RecordOptions::ranks). The stacks are those of the
// whole.
class DistributedTables final : public AttentionLayout {
 public:
  explicit DistributedTables(model::Recording part);

  [[nodiscard]] const std::vector<text::Token>& queries(Kind kind) const noexcept override;
  [[nodiscard]] const std::vector<text::Token>& keys(Kind kind) const noexcept override;
  // Attention and hidden states of this rank's rows.
  [[nodiscard]] const model::Recording* recording() const noexcept override { return &part_; }

 private:
  model::Recording part_;
};

struct ExamineOptions {
  CheckOptions check = {};                        // `progress` is ignored
  std::optional<StatisticsOptions> statistics{};  // none: no statistics; `progress` and `also` are ignored
  base::Progress progress = {};                   // in heads of all ranks
};

struct Findings {
  CheckResult check;                       // the same on every rank
  std::vector<HeadStatistics> statistics;  // on rank 0; empty elsewhere
};

// check_weights() and statistics() of the whole recording; all ranks must call it. Works in rounds: in each, a rank
// gets all rows of as many heads as it has threads. Memory beside its own part is twice that of these heads' Q and K.
// The numbers are those that one process finds in the same recording.
Findings examine(Ranks& ranks, const DistributedTables& layout, const ExamineOptions& options, ThreadPool& pool);

}  // namespace attn::insight
