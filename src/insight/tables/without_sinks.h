// insight/tables/without_sinks.h - heads without their sinks: where attention goes when it goes anywhere.
#pragma once

#include <memory>

#include "insight/tables/attention_tables.h"

namespace attn::insight {

// What is left of a row must be more than rounding.
inline constexpr double kLeastLeft = 1e-6;

// The same heads with the first key and special tokens (token_sets.h) at 0, and each row divided by what is left of it;
// a row of which no more than kLeastLeft is left stays 0. Computed a tile at a time, whenever it is asked for; what is
// left of a row is found once: O(N) memory a head. It has no reading(): what is kept there is of all weights. Throws
// std::invalid_argument unless its numbers are weights. Words that are put together come first.
std::unique_ptr<AttentionTables> without_sinks(std::shared_ptr<const AttentionTables> tables);

}  // namespace attn::insight
