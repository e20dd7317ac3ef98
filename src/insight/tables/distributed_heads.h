// insight/tables/distributed_heads.h - from rows of all heads to all rows of some heads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "attn/ranks.h"
#include "insight/tables/attention_tables.h"
#include "model/recording/attention_log.h"
#include "model/recording/recording.h"

namespace attn::insight {

// Some heads of a subject, all of their rows. Each is a layer of one head, in the order given: of its kind the first
// one is layer 0.
class SomeHeads final : public RecordedTables {
 public:
  struct One {
    HeadId name;                    // in the subject
    model::AttentionRecord record;  // of one head
  };
  // At least one, in the order of subject.heads().
  SomeHeads(const AttentionLayout& layout, std::vector<One> heads);

  // That of the subject.
  [[nodiscard]] HeadId name_of(const HeadId& here) const;

  [[nodiscard]] const std::vector<text::Token>& queries(Kind kind) const noexcept override;
  [[nodiscard]] const std::vector<text::Token>& keys(Kind kind) const noexcept override;

 private:
  const AttentionLayout& layout_;
  std::vector<HeadId> names_;
};

// Which heads each rank looks at in a round: [ranks]. Some may have none.
using Round = std::vector<std::vector<HeadId>>;
// All heads, in their order; in a round each rank gets as many as it has threads. All ranks must call it.
std::vector<Round> rounds_of(Ranks& ranks, const std::vector<HeadId>& heads, int threads);

// This rank's heads of a round; null: it has none. `subject.reading()` is this rank's part. All ranks must call it.
std::unique_ptr<SomeHeads> collect(Ranks& ranks, const AttentionLayout& layout, const Round& round);

}  // namespace attn::insight
