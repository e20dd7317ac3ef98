#include "text/tokenizer/pieces.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>

#include "base/utf8.h"

namespace attn::text {
namespace {

constexpr std::string_view kSpace = "\u2581";  // ▁
constexpr int kNoByte = -1;

// GPT-2's letters for bytes: a byte that is visible in Latin-1 stands for itself, the other 68 are U+0100 and up.
constexpr std::array<std::int16_t, 256 + 68> letters_to_bytes() {
  std::array<std::int16_t, 256 + 68> table{};
  table.fill(kNoByte);
  std::size_t next = 256;
  for (std::int16_t byte = 0; byte < 256; ++byte) {
    const bool visible = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    table[visible ? static_cast<std::size_t>(byte) : next++] = byte;
  }
  return table;
}

// The code point of a valid character of one or two bytes, up to 0x7FF, which covers all of those letters.
std::size_t code_point(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first;
  return ((first & 0x1Fu) << 6) | (static_cast<unsigned char>(character[1]) & 0x3Fu);
}

std::string hex_byte(char byte) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  const auto value = static_cast<unsigned char>(byte);
  return {'<', '0', 'x', digits[value >> 4], digits[value & 15], '>'};
}

// "₁" to "₄".
std::string subscript(std::size_t number) {
  return std::string("\u2080").substr(0, 2) + static_cast<char>(0x80 + number);
}

std::string with_spaces(std::string_view piece) {
  std::string out;
  for (std::size_t at = 0; at < piece.size();) {
    const bool space = piece.substr(at).starts_with(kSpace);
    out += space ? ' ' : piece[at];
    at += space ? kSpace.size() : 1;
  }
  return out;
}

// Consecutive pieces that are bytes; their characters are decoded together.
class PieceRun {
 public:
  explicit PieceRun(std::vector<std::string>& texts) : texts_(texts) {}

  void add(std::size_t piece, std::string_view bytes) {
    bytes_ += bytes;
    owners_.resize(bytes_.size(), piece);
  }

  void end() {
    for (std::size_t at = 0; at < bytes_.size();) {
      const base::Character next = base::first_character(std::string_view(bytes_).substr(at));
      if (next.whole) {
        show(at, next.size);
      } else {
        for (std::size_t i = at; i < at + next.size; ++i) texts_[owners_[i]] += hex_byte(bytes_[i]);
      }
      at += next.size;
    }
    bytes_.clear();
    owners_.clear();
  }

 private:
  void show(std::size_t at, std::size_t size) {
    const std::string_view character = std::string_view(bytes_).substr(at, size);
    const bool spread = owners_[at] != owners_[at + size - 1];
    std::size_t number = 0;
    for (std::size_t i = at; i < at + size; ++i) {
      if (i > at && owners_[i] == owners_[i - 1]) continue;
      texts_[owners_[i]] += character;
      if (spread) texts_[owners_[i]] += subscript(++number);
    }
  }

  std::vector<std::string>& texts_;
  std::string bytes_;
  std::vector<std::size_t> owners_;  // the piece that each byte belongs to
};

}  // namespace

std::optional<std::string> byte_level_bytes(std::string_view piece) {
  static constexpr auto table = letters_to_bytes();
  std::string bytes;
  for (std::size_t at = 0; at < piece.size();) {
    const base::Character letter = base::first_character(piece.substr(at));
    if (!letter.whole || letter.size > 2) return std::nullopt;
    const std::size_t code = code_point(piece.substr(at, letter.size));
    if (code >= table.size() || table[code] == kNoByte) return std::nullopt;
    bytes += static_cast<char>(table[code]);
    at += letter.size;
  }
  return bytes;
}

std::optional<unsigned char> fallback_byte(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>') return std::nullopt;
  unsigned char value = 0;
  const char* end = piece.data() + 5;
  const auto [stop, problem] = std::from_chars(piece.data() + 3, end, value, 16);
  if (problem != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::vector<std::string> readable(std::span<const std::string_view> pieces, PieceForm form) {
  std::vector<std::string> texts(pieces.size());
  PieceRun run(texts);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (form == PieceForm::byte_level) {
      if (const auto bytes = byte_level_bytes(pieces[i])) {
        run.add(i, *bytes);
        continue;
      }
    } else if (form == PieceForm::sentence_piece) {
      if (const auto byte = fallback_byte(pieces[i])) {
        run.add(i, std::string(1, static_cast<char>(*byte)));
        continue;
      }
    }
    run.end();
    texts[i] = form == PieceForm::sentence_piece ? with_spaces(pieces[i]) : std::string(pieces[i]);
  }
  run.end();
  return texts;
}

}  // namespace attn::text
