#include <utility>

#include "base/utf8.h"
#include "text/tokenizer/pieces.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/tokenizer_state.h"

namespace attn::text {

std::string TextStream::add(std::int32_t id) {
  const Token token = std::move(tokenizer_->tokens({&id, 1})[0]);
  if (token.special || token.piece.empty()) return "";
  const Decoding& decoding = tokenizer_->state_->decoding;
  if (decoding.flow == TextFlow::bytes) {
    bytes_ += byte_level_bytes(token.piece).value_or(token.piece);
    return base::take_characters(bytes_);
  }
  ids_.push_back(id);
  if (decoding.flow == TextFlow::whole || (decoding.joins_bytes && fallback_byte(token.piece))) return "";
  std::string text = tokenizer_->decode(ids_).substr(shown_);
  ids_ = {id};
  shown_ = tokenizer_->decode(ids_).size();
  return text;
}

std::string TextStream::finish() {
  std::string text = tokenizer_->state_->decoding.flow == TextFlow::bytes ? base::replace_bad_bytes(bytes_)
                                                                          : tokenizer_->decode(ids_).substr(shown_);
  *this = TextStream(*tokenizer_);
  return text;
}

}  // namespace attn::text
