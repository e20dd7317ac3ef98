#include <cstdlib>
#include <cwchar>

#include "figure/terminal/character.h"

namespace attn::figure {

// wcwidth() says -1 of what cannot be printed.
int columns_of_character(char32_t c) { return c == 0xAD ? 1 : std::abs(wcwidth(static_cast<wchar_t>(c))); }

bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0); }

}  // namespace attn::figure
