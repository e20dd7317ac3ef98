// base/markup.h - escapes text and encodes bytes for XML and HTML.
#pragma once

#include <string>
#include <string_view>

namespace attn::base {

// Escapes text for use between tags or in an attribute in double quotes.
std::string escaped(std::string_view text);

// Base64 by RFC 4648, section 4, with padding.
std::string base64(std::string_view bytes);

}  // namespace attn::base
