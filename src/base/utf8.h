// base/utf8.h - bytes as characters, and what to do where they are none.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace attn::base {

// What `bytes` (not empty) begin with. A character that is not whole is the longest beginning of one, at least one
// byte: what Unicode wants to be replaced by a single U+FFFD. It is cut if more bytes might have made it whole.
struct Character {
  std::size_t size = 1;
  bool whole = false;
  bool cut = false;
};
Character first_character(std::string_view bytes);

// Where the first byte stands that belongs to no character.
std::optional<std::size_t> first_bad_byte(std::string_view text);
// Throws std::invalid_argument with that byte; `name` is what the text is called.
void require_utf8(std::string_view text, const char* name);

// Takes from `bytes` and returns all but a character that is cut at the end. What is not UTF-8 becomes U+FFFD.
std::string take_characters(std::string& bytes);
// All of it; also what is cut at the end becomes U+FFFD.
std::string replace_bad_bytes(std::string_view bytes);

}  // namespace attn::base
