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

// Where in the text a token stands: code points [from, to) of the text it came from, as Hugging Face's tools count.
struct Span {
  std::int64_t from = 0, to = 0;
};

struct Token {
  std::int32_t id = 0;
  std::string piece;                 // as the vocabulary has it: "##ing", "Ġworld", "▁the", "<0xE4>"
  std::string text;                  // to be read by people: bytes joined into characters, "Ġ" and "▁" a space
  Span span;                         // {0, 0} for special tokens
  std::int32_t sequence = 0;         // 0, or 1 in the second text of a pair: the token type
  std::optional<std::int64_t> word;  // which word of its text, none for special tokens
  bool special = false;              // put there by the tokenizer: [CLS], </s>
};

struct Encoding {
  std::vector<Token> tokens;

  [[nodiscard]] std::vector<std::int32_t> ids() const;
  [[nodiscard]] std::vector<std::int32_t> types() const;
};

// Ids that have a role; -1: there is none.
struct SpecialIds {
  std::int32_t mask = -1, unknown = -1, pad = -1, bos = -1, eos = -1, cls = -1, sep = -1;
};

// A tokenizer of the Hugging Face kind. Padding and truncation that its file asks for are turned off. Any number of
// threads may use one.
class Tokenizer {
 public:
  // From a model's folder: tokenizer.json, else vocab.txt (WordPiece), else vocab.json and merges.txt (byte-level BPE).
  // Throws attn::Error if there is none or if it is broken.
  static Tokenizer load(const base::Folder& folder);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Special tokens included unless `bare`. Throws std::invalid_argument if a text is not UTF-8, with the byte.
  [[nodiscard]] Encoding encode(std::string_view text, bool bare = false) const;
  [[nodiscard]] Encoding encode(std::string_view text, std::string_view pair, bool bare = false) const;
  // A literal would rather become a bool than a string_view.
  [[nodiscard]] Encoding encode(std::string_view text, const char* pair, bool bare = false) const {
    return encode(text, std::string_view(pair), bare);
  }

  // encode().ids(), in half the time: for texts of which nothing else is asked.
  [[nodiscard]] std::vector<std::int32_t> ids(std::string_view text, bool bare = false) const;

  // Text of ids; special tokens are left out if asked. Equal to decode() of Hugging Face's tokenizers.
  [[nodiscard]] std::string decode(std::span<const std::int32_t> ids, bool skip_special = true) const;
  // The tokens that ids stand for, as encode() would have given them, without spans and words. Special are those that
  // the vocabulary knows as such. An id that it lacks has an empty piece.
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

// Text that comes a token at a time: gives what has become whole. A character that is spread over several tokens waits
// until it is known. All that add() and then finish() give, together, is decode() of all the ids. finish() also makes
// the stream ready for another text. The tokenizer must outlive it.
class TextStream {
 public:
  explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}
  std::string add(std::int32_t id);
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  std::vector<std::int32_t> ids_;  // the last one whose text was given, if any, and those that wait
  std::size_t shown_ = 0;          // bytes of the text of ids_ that were already given
  std::string bytes_;              // byte-level: the beginning of a character
};

}  // namespace attn::text
