// figure/scene/named_tokens.h - finds the tokens that a user names by text or by number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace attn::figure {

// Returns the indices of all tokens whose text is `asked`, ignoring spaces around it; if there are none and `asked` is
// a number, that index. Otherwise throws std::invalid_argument that suggests the nearest. `what` is "token" or "word",
// for the message.
std::vector<std::int64_t> named_tokens(const std::vector<text::Token>& tokens, const std::string& asked,
                                       std::string_view what = "token");

}  // namespace attn::figure
