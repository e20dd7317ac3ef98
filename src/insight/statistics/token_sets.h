// insight/statistics/token_sets.h - tokens that heads are known to attend to: special tokens, punctuation, repetitions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace attn::insight {

// Added by the tokenizer, or spelled like a special token: "[SEP]", "</s>", "<|endoftext|>".
bool is_special(const text::Token& token);
// Whether all characters, ignoring spaces and "##", are ASCII punctuation or common marks of other languages, and the
// token is not special.
bool is_punctuation(const text::Token& token);

// Finds earlier occurrences of a token.
class Repeats {
 public:
  explicit Repeats(const std::vector<text::Token>& tokens);

  // Positions j < i of the same token, increasing; empty for special tokens.
  [[nodiscard]] std::span<const std::int64_t> before(std::int64_t i) const noexcept;
  // Only the positions in [from, to).
  [[nodiscard]] std::span<const std::int64_t> before(std::int64_t i, std::int64_t from, std::int64_t to) const noexcept;

 private:
  std::vector<std::int64_t> order_;         // all positions, grouped by token, increasing within a group
  std::vector<std::size_t> first_, place_;  // indices into order_: of the token's first occurrence, and of the token
};

}  // namespace attn::insight
