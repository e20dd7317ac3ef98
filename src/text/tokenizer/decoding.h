// text/tokenizer/decoding.h - how ids become text, as described by tokenizer.json.
#pragma once

#include <string_view>

#include "text/tokenizer/pieces.h"

namespace attn::text {

// How much of a text is final while tokens are still arriving.
enum class TextFlow {
  bytes,   // tokens are bytes; characters are final once complete
  tokens,  // a token's text depends only on the token before it
  whole,   // nothing is final before the end
};

struct Decoding {
  PieceForm form = PieceForm::plain;
  TextFlow flow = TextFlow::whole;
  // Consecutive "<0xE4>" tokens become final together, at the first token of another form.
  bool joins_bytes = false;
};

// Parses {"decoder": ..., "pre_tokenizer": ...} of a tokenizer.json.
Decoding decoding_of(std::string_view parts);

}  // namespace attn::text
