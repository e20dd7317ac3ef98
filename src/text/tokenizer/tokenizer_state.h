// text/tokenizer/tokenizer_state.h - what a Tokenizer holds.
#pragma once

#include <memory>
#include <string>

#include "text/tokenizer/crate.h"
#include "text/tokenizer/decoding.h"
#include "text/tokenizer/tokenizer.h"

namespace attn::text {

struct FreeTokenizer {
  void operator()(AttnTokenizer* tokenizer) const { attn_tokenizer_free(tokenizer); }
};

struct Tokenizer::State {
  std::unique_ptr<AttnTokenizer, FreeTokenizer> crate;
  std::string path;  // named in errors
  Decoding decoding;
  SpecialIds special;
};

}  // namespace attn::text
