// insight/tables/without_sinks.h - tables with sinks removed and rows renormalised.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "insight/tables/attention_tables.h"

namespace attn::insight {

// The rule: the first key and special tokens (token_sets.h) are sinks.
bool is_sink(const std::vector<text::Token>& keys, std::int64_t key);

// A row keeps its numbers only if more than this is left of it: less is rounding.
inline constexpr double kLeastLeft = 1e-6;

// The same heads with sinks at 0, and each row divided by the sum of the
// rest; a row with no more than kLeastLeft left stays 0. weights() computes on demand and caches the row sums: O(N)
// memory per head. recording() is null, because the recording describes all weights. Throws std::invalid_argument
// unless the numbers are weights. Apply merged_words() first, this second.
std::unique_ptr<AttentionTables> without_sinks(std::shared_ptr<const AttentionTables> tables);

}  // namespace attn::insight
