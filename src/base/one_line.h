// base/one_line.h - text of unknown origin, made safe for one line of a message.
#pragma once

#include <string>
#include <string_view>

namespace attn::base {

// Control characters and invalid UTF-8 become '?', and text over 120 bytes ends in "...". in_quotes() adds apostrophes
// around it.
std::string one_line(std::string_view text);
std::string in_quotes(std::string_view text);

}  // namespace attn::base
