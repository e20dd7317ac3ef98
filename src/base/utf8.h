// base/utf8.h - splits bytes into UTF-8 characters and replaces invalid ones.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace attn::base {

// The first character of `bytes`, which are not empty. An incomplete character is the longest valid prefix of one, at
// least one byte: Unicode recommends replacing it by a single U+FFFD. It is cut if more bytes could complete it.
struct Character {
  std::size_t size = 1;
  bool whole = false;
  bool cut = false;
};
Character first_character(std::string_view bytes);
// The code point of one whole character.
char32_t code_point(std::string_view character);

// The offset of the first byte that belongs to no character.
std::optional<std::size_t> first_bad_byte(std::string_view text);
// Throws std::invalid_argument with that byte; `name` is the text's name in the message.
void require_utf8(std::string_view text, const char* name);

// Removes from `bytes` and returns everything except a character cut at the end. Invalid bytes become U+FFFD.
std::string take_characters(std::string& bytes);
// Returns all of it; a character cut at the end becomes U+FFFD too.
std::string replace_bad_bytes(std::string_view bytes);

}  // namespace attn::base
