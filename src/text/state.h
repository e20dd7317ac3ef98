// text/state.h - what a Tokenizer holds.
#pragma once

#include <memory>
#include <string>

#include "attn_tokenizers.h"
#include "text/decoding.h"
#include "text/tokenizer.h"

namespace attn::text {

struct FreeTokenizer {
  void operator()(AttnTokenizer* tokenizer) const { attn_tokenizer_free(tokenizer); }
};

// A text that the crate gave away.
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

struct Tokenizer::State {
  std::unique_ptr<AttnTokenizer, FreeTokenizer> crate;
  std::string path;  // named in errors
  Decoding decoding;
  SpecialIds special;
};

}  // namespace attn::text
