// figure/scene/named_tokens.h - tokens as people name them: by their text or by their number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace attn::figure {

// All tokens that say `asked`, with or without spaces around it; where none does and it is a number, the token of that
// number. Throws std::invalid_argument that names the nearest. `what`: how they are called, "token" or "word".
std::vector<std::int64_t> named_tokens(const std::vector<text::Token>& tokens, const std::string& asked,
                                       std::string_view what = "token");

}  // namespace attn::figure
