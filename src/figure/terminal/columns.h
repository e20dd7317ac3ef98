// figure/terminal/columns.h - how much room text takes where every character has a column of its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn::figure {

// Text that cannot upset a terminal: control characters as escapes (\n, \x1b), U+FFFD for what is not UTF-8.
std::string on_one_line(std::string_view text);

// One character, with the marks that stand on it.
struct Glyph {
  std::string text;
  int columns = 1;  // two for Chinese and emoji
};
std::vector<Glyph> glyphs_of(std::string_view text);

int columns_of(std::string_view text);
// Columns of the longest one; 0 if there are none.
int longest(const std::vector<std::string>& labels);
// Cut to `width` columns (with … where something is missing) and filled with spaces.
std::string fitted(std::string_view text, int width, bool to_the_right = false);
// Lines of at most `width` columns, broken between words; a word that is longer than a line is broken anywhere.
std::vector<std::string> wrapped(std::string_view text, int width);

std::string repeat(std::string_view text, int times);

}  // namespace attn::figure
