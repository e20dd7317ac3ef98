// text/tokenizer/decoding.h - how ids become text, as a tokenizer.json describes it.
#pragma once

#include <string_view>

#include "text/tokenizer/pieces.h"

namespace attn::text {

// How much of a text is settled while its tokens are still coming.
enum class TextFlow {
  bytes,   // each token is some bytes; characters are settled when they are whole
  tokens,  // each token is settled by the one before it
  whole,   // nothing is settled before the end
};

struct Decoding {
  PieceForm form = PieceForm::plain;
  TextFlow flow = TextFlow::whole;
  // "<0xE4>" tokens that follow one another are settled together, by the first token that is none.
  bool joins_bytes = false;
};

// From {"decoder": ..., "pre_tokenizer": ...} of a tokenizer.json.
Decoding decoding_of(std::string_view parts);

}  // namespace attn::text
