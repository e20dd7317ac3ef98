// insight/tables/words.h - joins the pieces of a tokenizer into words, and tables between tokens into tables between
// words.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "insight/tables/attention_tables.h"
#include "model/recording/recording.h"
#include "text/tokenizer/tokenizer.h"

namespace attn::insight {

// Word w consists of the tokens [starts[w], starts[w + 1]).
struct Words {
  std::vector<text::Token> words;    // text as in the source; id and piece of the first token, spans joined
  std::vector<std::int64_t> starts;  // W + 1, from 0 to the number of tokens

  [[nodiscard]] std::int64_t count() const noexcept { return static_cast<std::int64_t>(words.size()); }
  [[nodiscard]] std::vector<std::int64_t> of_tokens() const;  // the word of each token
};

// Joins consecutive tokens that the tokenizer assigns to the same word of the same text; a special token is a word of
// its own, and so is a Chinese character. SentencePiece has no words, and neither have generated tokens: there a word
// begins at a space, and punctuation stands alone unless it is inside a word ("didn't", "3.14"). A character split over
// several tokens stays whole. Words are spelled as in `source` if it is given, else from their pieces.
Words words_of(std::span<const text::Token> tokens, const model::Text* source = nullptr);

// The same heads between words: the sum over a key word's tokens of the mean over a query word's tokens, which keeps
// the sums of rows. weights() computes on demand, block by block. recording() is null, because the recording counts in
// tokens. Apply views that need tokens (value_weighted()) first.
std::unique_ptr<AttentionTables> merged_words(std::shared_ptr<const AttentionTables> tables);

}  // namespace attn::insight
