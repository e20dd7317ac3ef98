// insight/statistics/token_sets.h - tokens that heads are known to look for: special ones, punctuation, equal ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace attn::insight {

// Put there by the tokenizer, or named as such tokens are: "[SEP]", "</s>", "<|endoftext|>".
bool is_special(const text::Token& token);
// All of its characters, without spaces and "##", are ASCII's punctuation or other languages' usual marks; not special.
bool is_punctuation(const text::Token& token);

// Where the same token has been before.
class Repeats {
 public:
  explicit Repeats(const std::vector<text::Token>& tokens);

  // Positions j < i of the same token, rising; none of special tokens.
  [[nodiscard]] std::span<const std::int64_t> before(std::int64_t i) const noexcept;
  // Those of them that lie in [from, to).
  [[nodiscard]] std::span<const std::int64_t> before(std::int64_t i, std::int64_t from, std::int64_t to) const noexcept;

 private:
  std::vector<std::int64_t> order_;         // all positions, equal tokens side by side and rising
  std::vector<std::size_t> first_, place_;  // in order_: of the first equal one, and of the token itself
};

}  // namespace attn::insight
