// base/markup.h - text and bytes inside XML and HTML.
#pragma once

#include <string>
#include <string_view>

namespace attn::base {

// As text between tags, or as the value of an attribute in double quotes.
std::string escaped(std::string_view text);

// RFC 4648, section 4, with padding.
std::string base64(std::string_view bytes);

}  // namespace attn::base
