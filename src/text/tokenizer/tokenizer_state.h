// text/tokenizer/tokenizer_state.h - the private state of a Tokenizer.
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
  std::string path;  // for error messages
  Decoding decoding;
  SpecialIds special;
};

}  // namespace attn::text
