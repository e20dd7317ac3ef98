// text/tokenizer/crate.h - passes texts to and from the tokenizers crate.
#pragma once

#include <string>
#include <string_view>

#include "text/tokenizer/crate/include/attn_tokenizers.h"

namespace attn::text {

// Turns a null empty view into an empty text; a slice without data means "no text".
inline AttnSlice slice(std::string_view text) { return {text.data() == nullptr ? "" : text.data(), text.size()}; }

// Owns a text that the crate returned.
class CrateText {
 public:
  CrateText() = default;
  explicit CrateText(AttnText text) : text_(text) {}
  CrateText(const CrateText&) = delete;
  CrateText& operator=(const CrateText&) = delete;
  ~CrateText() { attn_text_free(text_); }

  AttnText* receive() { return &text_; }
  [[nodiscard]] std::string str() const { return text_.data == nullptr ? "" : std::string(text_.data, text_.size); }

 private:
  AttnText text_{nullptr, 0};
};

}  // namespace attn::text
