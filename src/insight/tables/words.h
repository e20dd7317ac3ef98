// insight/tables/words.h - words put together again from the pieces that a tokenizer made of them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "insight/tables/attention_tables.h"
#include "model/recording/recording.h"
#include "text/tokenizer/tokenizer.h"

namespace attn::insight {

// Word w is made of the tokens [starts[w], starts[w + 1]).
struct Words {
  std::vector<text::Token> words;    // text as in the source; id and piece of the first token, spans joined
  std::vector<std::int64_t> starts;  // W + 1, from 0 to the number of tokens

  [[nodiscard]] std::int64_t count() const noexcept { return static_cast<std::int64_t>(words.size()); }
  [[nodiscard]] std::vector<std::int64_t> of_tokens() const;  // to which word each token belongs
};

// Tokens that follow one another and have the same word of the same text; a special token is a word of its own, and so
// is a Chinese character. SentencePiece knows no words, and tokens that a model has said carry none: there a word
// begins with a space, and punctuation stands alone unless it is inside ("didn't", "3.14"). A character that is spread
// over several tokens stays whole. With a source, words are written as they stand in it; else from their pieces.
Words words_of(std::span<const text::Token> tokens, const model::Text* source = nullptr);

// The same heads between words: the sum over a key word's tokens of the mean over a query word's tokens, so that rows
// still sum to what they did. Computed a tile at a time, whenever it is asked for. It has no reading(): what is kept
// there is counted in tokens. Whatever looks at tokens (value_weighted) comes first.
std::unique_ptr<AttentionTables> merged_words(std::shared_ptr<const AttentionTables> tables);

}  // namespace attn::insight
