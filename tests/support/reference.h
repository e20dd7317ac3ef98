// tests/support/reference.h - the "textbook": attention by plain loops in double precision.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "attn/attention.h"
#include "attn/linear.h"

namespace attn::test {

// Queries and keys of one sequence, and where they lie in the inputs.
struct TextbookSequence {
  std::int64_t b = 0;      // in the inputs
  std::int64_t batch = 0;  // b, for mask and dropout
  std::int64_t first_query = 0, queries = 0;
  std::int64_t first_key = 0, keys = 0;
  std::int64_t bias_zero = 0;  // the index of distance 0 in the bias table
};

// One per element of the batch, or one per packed sequence.
std::vector<TextbookSequence> sequences_of(const Inputs& in);
std::vector<TextbookSequence> sequences_of(const Packing& packing);

struct Textbook {
  Shape<4> shape{};             // B, H, N, E
  std::int64_t keys = 0;        // M
  std::vector<double> out;      // [B, H, N, E]
  std::vector<double> lse;      // [B, H, N]
  std::vector<double> weights;  // [B, H, N, M]; not for packed sequences
  std::vector<double> doubt;    // [B, H, N]: roughly how much rounding to float may change a score of this row
  double largest_value = 0;     // max |v| over its finite values, divided by 1 - dropout rate
};

Textbook textbook(const Inputs& in, const Options& options);
Textbook textbook(const Inputs& in, const Options& options, const Packing& packing);

// Linear attention by its quadratic form, [B, H, N, E]. Ignores the state.
std::vector<double> linear_textbook(const Inputs& in, const LinearOptions& options);

// Compares float results with the textbook. A score is a sum of D products with an error of some eps times the sum
// of their absolute values, which is `doubt`; e to that power multiplies the weights. So, per row:
//   lse      |error| <= 1e-5 (1 + |lse|) + 4 doubt
//   weights  |error| <= 1e-5 + 4 doubt
//   out      |error| <= (2e-5 + 4 doubt) max |v|
// NaN must match NaN, and infinities must be equal. The message names the worst element.
testing::AssertionResult out_agrees(const Textbook& book, const View<const float, 4>& out);
testing::AssertionResult lse_agrees(const Textbook& book, const View<const float, 3>& lse);
testing::AssertionResult weights_agree(const Textbook& book, const View<const float, 4>& weights,
                                       Rectangle window = {});

}  // namespace attn::test
