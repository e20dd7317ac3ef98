// figure/scene/label.h - tokens as they are written beside a picture.
#pragma once

#include <string>
#include <string_view>

namespace attn::figure {

// One line of well-formed UTF-8 in which everything can be seen: control and other invisible characters as escapes (\n,
// \x1b, \u200b), spaces in front and at the end as · (" the" is "·the"), bytes that are no UTF-8 as \xe2. Joiners
// inside a word or an emoji stay what they are.
std::string visible(std::string_view text);

}  // namespace attn::figure
