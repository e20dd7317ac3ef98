// model/run/prepare.h - texts as people write them, made ready for a model; and what the model says to them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/recording/recording.h"
#include "model/run/generate.h"

namespace attn::model {

// Everybody may write [MASK], whatever the model calls it; a tokenizer without such a token leaves the text as it is.
std::string with_own_mask(std::string text, const text::Tokenizer& tokenizer);

inline constexpr std::int64_t kMostSaid = 64;  // tokens of a target that an encoder-decoder says by itself

// Of an encoder-decoder a pair is what it says, where no target is given; where there is neither, what it says by
// itself. Gaps are written as the model has them. `on_layer`: of the passes that this takes.
Text prepared(Text text, const Reader& reader, ThreadPool& pool, const LayerHook& on_layer = {});

// Throws std::invalid_argument for a text that gives no token but those that the model puts around every text.
void check_not_empty(const Recording& recording);

// What to begin generating with. Throws std::invalid_argument for an encoder, and for an empty prompt where the model
// has no token to begin with.
std::vector<std::int32_t> prompt_ids(const Reader& reader, const std::string& prompt);

// Words for the gaps of a text.
struct Filled {
  struct Gap {
    std::int64_t token = 0;  // its place among the tokens
    std::vector<Choice> choices;
  };
  std::vector<text::Token> tokens;
  std::vector<Gap> gaps;  // may be empty
};
// Throws std::invalid_argument for a model that cannot fill gaps.
Filled fill(const Reader& reader, const std::string& text, std::int64_t top, ThreadPool& pool);

// Throws std::invalid_argument unless the model gives one of several labels, or any number of them.
void check_labels(const Facts& facts);

}  // namespace attn::model
