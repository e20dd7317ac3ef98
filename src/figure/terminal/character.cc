#include "figure/terminal/character.h"

#include <glib.h>

namespace attn::figure {

int columns_of_character(char32_t c) {
  if (g_unichar_iszerowidth(c) != 0) return 0;
  return g_unichar_iswide(c) != 0 ? 2 : 1;
}

bool is_control(char32_t c) { return g_unichar_iscntrl(c) != 0; }

}  // namespace attn::figure
