// model/run/prepare.h - prepares user text for a model, and fills gaps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/recording/recording.h"
#include "model/run/generate.h"

namespace attn::model {

// Replaces [MASK] by the model's own mask token; without one, returns the text unchanged.
std::string with_own_mask(std::string text, const text::Tokenizer& tokenizer);

inline constexpr std::int64_t kMostSaid = 64;  // maximum length of a target that an encoder-decoder writes on its own

// Completes the request for the model. For an encoder-decoder the pair serves as the target if there is none; without
// both the model writes a target on its own. [MASK] becomes the model's mask token. `on_layer` is called during these
// passes.
Text prepared(Text text, const Reader& reader, ThreadPool& pool, const LayerHook& on_layer = {});

// Throws std::invalid_argument if the text has no tokens besides the special ones.
void check_not_empty(const Recording& recording);

// Token ids to generate from. Throws std::invalid_argument for an encoder, and for an empty prompt if the model has no
// start token.
std::vector<std::int32_t> prompt_ids(const Reader& reader, const std::string& prompt);

// Candidate words for the gaps of a text.
struct Filled {
  struct Gap {
    std::int64_t token = 0;  // index of the token
    std::vector<Choice> choices;
  };
  std::vector<text::Token> tokens;
  std::vector<Gap> gaps;  // may be empty
};
// Throws std::invalid_argument for a model that cannot fill gaps.
Filled fill(const Reader& reader, const std::string& text, std::int64_t top, ThreadPool& pool);

// Throws std::invalid_argument unless the model classifies (one of several labels, or any number of them).
void check_labels(const Facts& facts);

}  // namespace attn::model
