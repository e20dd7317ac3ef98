// text/tokenizer/pieces.h - pieces of a vocabulary as people read them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn::text {

// How a vocabulary writes bytes and spaces.
enum class PieceForm {
  plain,           // as they are
  word_piece,      // "##ing" goes on a word; shown as it is
  byte_level,      // one letter stands for a byte, "Ġ" for a space (GPT-2)
  sentence_piece,  // "▁" stands for a space, "<0xE4>" for a byte
};

// The bytes that a byte-level piece stands for; none if a letter of it stands for no byte, as in some special tokens.
std::optional<std::string> byte_level_bytes(std::string_view piece);

// 0xE4 of "<0xE4>".
std::optional<unsigned char> fallback_byte(std::string_view piece);

// What each of the pieces, which follow one another, says. A character that is spread over several pieces stands in
// each of them, numbered: "😀₁", "😀₂". Bytes that make no character are written "<0xE4>".
std::vector<std::string> readable(std::span<const std::string_view> pieces, PieceForm form);

}  // namespace attn::text
