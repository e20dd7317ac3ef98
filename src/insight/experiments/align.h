// insight/experiments/align.h - which tokens of two texts are the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace attn::insight {

// Token a[k] of the one text is token b[k] of the other; both rise.
struct Alignment {
  std::vector<std::int64_t> a, b;

  [[nodiscard]] std::int64_t size() const noexcept { return std::ssize(a); }
};

// As many tokens as possible in the same order: a longest common subsequence of the tokens' texts. With the texts
// exchanged, the same tokens are found. O(N M) time and N M bits for what lies between a common beginning and end.
Alignment align(std::span<const text::Token> a, std::span<const text::Token> b);

}  // namespace attn::insight
