// insight/tables/word_boundary.h - where one word ends and the next begins.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "text/tokenizer/tokenizer.h"

namespace attn::insight {

// Finds word boundaries between tokens. The tokens must outlive it.
class WordBoundary {
 public:
  explicit WordBoundary(std::span<const text::Token> tokens);

  // Whether token i > 0 begins a word.
  [[nodiscard]] bool operator()(std::size_t i) const;

 private:
  [[nodiscard]] bool between_characters(std::size_t i) const;
  [[nodiscard]] bool inside_word(std::size_t i) const;

  std::span<const text::Token> tokens_;
  bool sentence_piece_ = false;  // pieces write a space as "▁"
  bool spaced_ = false;          // some token begins with a space
};

// The text of one word's tokens: without "##", and with a character that several tokens share only once.
std::string joined_text(std::span<const text::Token> tokens);

// `text` without leading and trailing spaces; unchanged if it has nothing else.
std::string_view without_spaces_around(std::string_view text);

}  // namespace attn::insight
