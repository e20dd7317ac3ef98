// insight/tables/difference.h - what two readings have different, as tables of their own.
#pragma once

#include <memory>

#include "insight/experiments/compare.h"
#include "insight/tables/attention_tables.h"

namespace attn::insight {

// p of `a` less p of `b`, head by head, on the tokens that `comparison` has aligned: numbers from -1 to 1. The tokens
// are those of `a`. All three must outlive it.
std::unique_ptr<AttentionTables> difference(const AttentionTables& a, const AttentionTables& b,
                                            const Comparison& comparison);

// The same with all tokens of `a` as rows and columns: NaN where one of them is not aligned.
std::unique_ptr<AttentionTables> difference_on_a(const AttentionTables& a, const AttentionTables& b,
                                                 const Comparison& comparison);

}  // namespace attn::insight
