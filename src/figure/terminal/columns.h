// figure/terminal/columns.h - measures, cuts and wraps text in terminal columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn::figure {

// Makes text safe for a terminal: control characters become escapes (\n, \x1b), invalid UTF-8 becomes U+FFFD.
std::string on_one_line(std::string_view text);

// One character with its combining marks.
struct Glyph {
  std::string text;
  int columns = 1;  // two for Chinese and emoji
};
std::vector<Glyph> glyphs_of(std::string_view text);

int columns_of(std::string_view text);
// The width of the longest text; 0 if there are none.
int longest(const std::vector<std::string>& labels);
// Cuts text to `width` columns, marking the cut with …, or pads it with spaces.
std::string fitted(std::string_view text, int width, bool to_the_right = false);
// Wraps text to lines of at most `width` columns, between words; a word longer than a line is broken anywhere.
std::vector<std::string> wrapped(std::string_view text, int width);

std::string repeat(std::string_view text, int times);

}  // namespace attn::figure
