// insight/statistics/find.h - heads by shape.
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

// What a head's table should look like.
//   - A name: previous, next, same, offset(-3), first, separators, punctuation, duplicate, induction, local, broad. The
//     similarity is the share of attention that lies there, as insight/statistics/statistics.h has it; of broad, the
//     entropy as a share of the largest.
//   - A mask: a head that looks equally at all that the mask and the model's own allow.
//   - A picture: numbers from 0 up, from top to bottom the queries. Each of its rows is taken as shares of one query's
//     attention (divided by its sum); rows of zeros say nothing. Table and picture are reduced to the smaller of both
//     sizes, weights added up over keys and averaged over queries.
// Of masks and pictures the similarity is the mean over rows of sum_j min(p, pattern): how much of the attention lies
// as the pattern has it. All are in [0, 1].
struct NamedPattern {
  std::string name;
  std::int64_t offset = 0;  // of "offset"
};
using Pattern = std::variant<NamedPattern, Mask, nn::Matrix>;

// A named pattern; none: it is not one of these.
std::optional<NamedPattern> parse_pattern(std::string_view text);
std::vector<std::string_view> pattern_names();

// A name or a mask. Throws std::invalid_argument that says what there is: "'sideways' is neither a name (previous,
// ...), nor a mask: ...".
Pattern parse_name_or_mask(const std::string& text);
// How a pattern was understood: "offset(-3)", "causal & window(2)", "a picture of 2 x 3".
std::string to_string(const Pattern& pattern);

struct Similar {
  HeadId head;
  double similarity = 0;
};

// All heads, or all of one kind, the nearest first; equals in order. Throws std::invalid_argument for a mask that does
// not fit, and for a picture that is empty, has negative numbers or says nothing.
struct FindOptions {
  std::optional<Kind> kind = std::nullopt;
  base::Progress progress = {};  // in heads
};
std::vector<Similar> find_heads(const AttentionTables& tables, const Pattern& pattern, const FindOptions& options,
                                ThreadPool& pool);

}  // namespace attn::insight
