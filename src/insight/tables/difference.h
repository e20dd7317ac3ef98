// insight/tables/difference.h - the difference of two recordings as attention tables.
#pragma once

#include <memory>

#include "insight/experiments/compare.h"
#include "insight/tables/attention_tables.h"

namespace attn::insight {

// p of `a` minus p of `b`, head by head, on the tokens that `comparison` aligned: numbers from -1 to 1. The tokens are
// those of `a`. Keeps references: all three arguments must outlive the result.
std::unique_ptr<AttentionTables> difference(const AttentionTables& a, const AttentionTables& b,
                                            const Comparison& comparison);

// The same with all tokens of `a` as rows and columns: NaN where the row or the column is not aligned.
std::unique_ptr<AttentionTables> difference_on_a(const AttentionTables& a, const AttentionTables& b,
                                                 const Comparison& comparison);

}  // namespace attn::insight
