// insight/tables/word_boundary.h - where one word ends and the next begins.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "text/tokenizer/tokenizer.h"

namespace attn::insight {

// Between which tokens words part; the tokens must outlive it.
class WordBoundary {
 public:
  explicit WordBoundary(std::span<const text::Token> tokens);

  // Whether a word begins with token i, i > 0.
  [[nodiscard]] bool operator()(std::size_t i) const;

 private:
  [[nodiscard]] bool between_characters(std::size_t i) const;
  [[nodiscard]] bool inside_word(std::size_t i) const;

  std::span<const text::Token> tokens_;
  bool sentence_piece_ = false;  // pieces write a space as "▁"
  bool spaced_ = false;          // some token begins with a space
};

// What the tokens of one word say together: without "##", and a character that they share once.
std::string joined_text(std::span<const text::Token> tokens);

// All of it if it is nothing but spaces.
std::string_view without_spaces_around(std::string_view text);

}  // namespace attn::insight
