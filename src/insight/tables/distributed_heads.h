// insight/tables/distributed_heads.h - redistributes a recording over ranks: from some rows of all heads to all rows of
// some heads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "attn/ranks.h"
#include "insight/tables/attention_tables.h"
#include "model/recording/attention_log.h"
#include "model/recording/recording.h"

namespace attn::insight {

// All rows of some heads of a layout. Each head becomes a layer with one head; layers count from 0 per kind, in the
// order of the heads.
class SomeHeads final : public RecordedTables {
 public:
  struct One {
    HeadId name;                    // in the layout
    model::AttentionRecord record;  // with one head
  };
  // At least one head, in the order of layout.heads(). The layout must outlive it.
  SomeHeads(const AttentionLayout& layout, std::vector<One> heads);

  // The head's name in the layout.
  [[nodiscard]] HeadId name_of(const HeadId& here) const;

  [[nodiscard]] const std::vector<text::Token>& queries(Kind kind) const noexcept override;
  [[nodiscard]] const std::vector<text::Token>& keys(Kind kind) const noexcept override;

 private:
  const AttentionLayout& layout_;
  std::vector<HeadId> names_;
};

// The heads of each rank in one round: [ranks]. A rank may have none.
using Round = std::vector<std::vector<HeadId>>;
// Distributes all heads, in order, over rounds; in each round a rank gets as many as it has threads. All ranks must
// call it.
std::vector<Round> rounds_of(Ranks& ranks, const std::vector<HeadId>& heads, int threads);

// Exchanges rows and returns this rank's heads of a round; null if it has none. `layout.recording()` is this rank's
// part. All ranks must call it.
std::unique_ptr<SomeHeads> collect(Ranks& ranks, const AttentionLayout& layout, const Round& round);

}  // namespace attn::insight
