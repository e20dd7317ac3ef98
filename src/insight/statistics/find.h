// insight/statistics/find.h - finds heads whose tables resemble a pattern.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attn/mask.h"
#include "attn/thread_pool.h"
#include "base/progress.h"
#include "insight/tables/attention_tables.h"
#include "nn/infer/matrix.h"

namespace attn::insight {

// What a head's table should look like, and how similarity is measured.
//   - A name: previous, next, same, offset(-3), first, separators, punctuation, duplicate, induction, local, broad. The
//     similarity is the share of attention that lies there, as defined in insight/statistics/statistics.h; for broad,
//     the entropy as a share of the largest.
//   - A mask: a head that attends evenly to all keys that both this mask and the model's own allow.
//   - A picture: non-negative numbers, one row per query from top to bottom. Each row is divided by its sum and taken
//     as the shares of one query's attention; rows of zeros are ignored. Table and picture are reduced to the smaller
//     of both sizes, weights added up over keys and averaged over queries.
// For masks and pictures the similarity is the mean over rows of sum_j min(p, pattern): the share of attention that
// agrees with the pattern. All similarities are in [0, 1].
struct NamedPattern {
  std::string name;
  std::int64_t offset = 0;  // for "offset" only
};
using Pattern = std::variant<NamedPattern, Mask, nn::Matrix>;

// The named pattern that `text` is; none if it is not a name.
std::optional<NamedPattern> parse_pattern(std::string_view text);
std::vector<std::string_view> pattern_names();

// Parses a name or a mask. Throws std::invalid_argument that lists the names: "'sideways' is neither a name (previous,
// ...), nor a mask: ...".
Pattern parse_name_or_mask(const std::string& text);
// How a pattern was parsed: "offset(-3)", "causal & window(2)", "a picture of 2 x 3".
std::string to_string(const Pattern& pattern);

struct Similar {
  HeadId head;
  double similarity = 0;
};

struct FindOptions {
  std::optional<Kind> kind = std::nullopt;  // none: all
  base::Progress progress = {};             // in heads
};
// Ranks all heads, or all heads of one kind, most similar first; ties stay in order. Throws std::invalid_argument for a
// mask that does not fit the tables, and for a picture that is empty, all zeros or has negative numbers.
std::vector<Similar> find_heads(const AttentionTables& tables, const Pattern& pattern, const FindOptions& options,
                                ThreadPool& pool);

}  // namespace attn::insight
