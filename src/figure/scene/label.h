// figure/scene/label.h - formats tokens as labels.
#pragma once

#include <string>
#include <string_view>

namespace attn::figure {

// Returns one line of well-formed UTF-8 in which everything is visible: control and other invisible characters as
// escapes (\n, \x1b, \u200b), leading and trailing spaces as · (" the" becomes "·the"), bytes that are not UTF-8 as
// \xe2. Joiners inside a word or an emoji stay.
std::string visible(std::string_view text);

}  // namespace attn::figure
