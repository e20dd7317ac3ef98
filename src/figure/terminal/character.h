// figure/terminal/character.h - what Unicode says of a character, by glib (character.cc) or the C library
// (character_wasm.cc).
#pragma once

namespace attn::figure {

// Columns of a terminal: 0 for a combining mark, 2 for a wide character, else 1.
int columns_of_character(char32_t c);
bool is_control(char32_t c);

}  // namespace attn::figure
