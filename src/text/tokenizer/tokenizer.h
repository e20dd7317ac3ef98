// text/tokenizer/tokenizer.h - text to tokens and back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/folder.h"

namespace attn::text {

// Position of a token: code points [from, to) of its text, counted as Hugging Face's tools do.
struct Span {
  std::int64_t from = 0, to = 0;
};

struct Token {
  std::int32_t id = 0;
  std::string piece;                 // as in the vocabulary: "##ing", "Ġworld", "▁the", "<0xE4>"
  std::string text;                  // readable: bytes joined into characters, "Ġ" and "▁" shown as a space
  Span span;                         // {0, 0} for special tokens
  std::int32_t sequence = 0;         // token type: 0, or 1 in the second text of a pair
  std::optional<std::int64_t> word;  // index of its word in the text; none for special tokens
  bool special = false;              // added by the tokenizer: [CLS], </s>
};

struct Encoding {
  std::vector<Token> tokens;

  [[nodiscard]] std::vector<std::int32_t> ids() const;
  [[nodiscard]] std::vector<std::int32_t> types() const;
};

// Ids with a role; -1: none.
struct SpecialIds {
  std::int32_t mask = -1, unknown = -1, pad = -1, bos = -1, eos = -1, cls = -1, sep = -1;
};

// A Hugging Face tokenizer. Padding and truncation in its file are ignored. Thread-safe.
class Tokenizer {
 public:
  // Loads from a model folder: tokenizer.json, else vocab.txt (WordPiece), else vocab.json and merges.txt (byte-level
  // BPE). Throws attn::Error if none exists or the file is broken.
  static Tokenizer load(const base::Folder& folder);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Adds special tokens unless `bare`. Throws std::invalid_argument, with the byte, if a text is not UTF-8.
  [[nodiscard]] Encoding encode(std::string_view text, bool bare = false) const;
  [[nodiscard]] Encoding encode(std::string_view text, std::string_view pair, bool bare = false) const;
  // Without this overload a string literal would convert to bool rather than to string_view.
  [[nodiscard]] Encoding encode(std::string_view text, const char* pair, bool bare = false) const {
    return encode(text, std::string_view(pair), bare);
  }

  // encode().ids() in half the time, for callers that need only ids.
  [[nodiscard]] std::vector<std::int32_t> ids(std::string_view text, bool bare = false) const;

  // The text of ids, without special tokens if requested. Equal to decode() of Hugging Face's tokenizers.
  [[nodiscard]] std::string decode(std::span<const std::int32_t> ids, bool skip_special = true) const;
  // The tokens for ids, as encode() gives them, but without spans and words. Special tokens are those that the
  // vocabulary marks as special. An unknown id has an empty piece.
  [[nodiscard]] std::vector<Token> tokens(std::span<const std::int32_t> ids) const;

  [[nodiscard]] std::int64_t size() const;  // of the vocabulary, added tokens included
  [[nodiscard]] std::optional<std::int32_t> id(std::string_view piece) const;
  [[nodiscard]] const SpecialIds& special() const;

 private:
  friend class TextStream;
  struct State;
  explicit Tokenizer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Decodes text token by token and returns what is complete. A character that spans several tokens waits until it is.
// The concatenated results of add() and finish() equal decode() of all ids. finish() also resets the stream for another
// text. The tokenizer must outlive it.
class TextStream {
 public:
  explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}
  std::string add(std::int32_t id);
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  std::vector<std::int32_t> ids_;  // the last id whose text was returned, if any, and those that wait
  std::size_t shown_ = 0;          // bytes of the text of ids_ that were already returned
  std::string bytes_;              // byte-level: an incomplete character
};

}  // namespace attn::text
