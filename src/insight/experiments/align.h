// insight/experiments/align.h - aligns the tokens of two texts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace attn::insight {

// Token a[k] of one text corresponds to token b[k] of the other; both lists are increasing.
struct Alignment {
  std::vector<std::int64_t> a, b;

  [[nodiscard]] std::int64_t size() const noexcept { return std::ssize(a); }
};

// Aligns as many tokens as possible, in order: a longest common subsequence of the tokens' texts. Symmetric: swapping
// the texts gives the same pairs. Takes O(N M) time and N M bits for what lies between the common prefix and suffix.
Alignment align(std::span<const text::Token> a, std::span<const text::Token> b);

}  // namespace attn::insight
