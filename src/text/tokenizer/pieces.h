// text/tokenizer/pieces.h - makes pieces of a vocabulary readable.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn::text {

// How a vocabulary encodes bytes and spaces.
enum class PieceForm {
  plain,           // as they are
  word_piece,      // "##ing" continues a word; shown as it is
  byte_level,      // one letter stands for a byte, "Ġ" for a space (GPT-2)
  sentence_piece,  // "▁" stands for a space, "<0xE4>" for a byte
};

// The bytes of a byte-level piece; none if one of its letters is not a byte, as in some special tokens.
std::optional<std::string> byte_level_bytes(std::string_view piece);

// 0xE4 of "<0xE4>".
std::optional<unsigned char> fallback_byte(std::string_view piece);

// Readable text for consecutive pieces. A character that spans several pieces appears in each of them, numbered: "😀₁",
// "😀₂". Bytes that are not part of a character are written "<0xE4>".
std::vector<std::string> readable(std::span<const std::string_view> pieces, PieceForm form);

}  // namespace attn::text
