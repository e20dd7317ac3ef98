#include "figure/scene/label.h"

#include <array>
#include <cstdint>
#include <cstdio>

#include "base/utf8.h"

namespace attn::figure {

namespace {

char32_t code_of(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(character[i])); };
  if (character.size() == 1) return byte(0);
  char32_t code = byte(0) & (0x7Fu >> character.size());
  for (std::size_t i = 1; i < character.size(); ++i) code = (code << 6) | (byte(i) & 0x3F);
  return code;
}

// Characters that are invisible, change the direction of the text or are not allowed in XML.
bool is_hidden(char32_t code) {
  constexpr std::array<std::array<char32_t, 2>, 10> kRanges = {{{0x00, 0x1F},
                                                                {0x7F, 0xA0},
                                                                {0xAD, 0xAD},
                                                                {0x200B, 0x200B},
                                                                {0x200E, 0x200F},
                                                                {0x2028, 0x202E},
                                                                {0x2060, 0x206F},
                                                                {0xFEFF, 0xFEFF},
                                                                {0xFFF9, 0xFFFB},
                                                                {0xFFFE, 0xFFFF}}};
  for (const auto& [from, to] : kRanges)
    if (code >= from && code <= to) return true;
  return false;
}

bool is_joiner(char32_t code) { return code == 0x200C || code == 0x200D; }

std::string escaped_code(char32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\r') return "\\r";
  if (code == '\t') return "\\t";
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), code < 0x80 ? "\\x%02x" : "\\u%04x", static_cast<unsigned>(code));
  return text.data();
}

std::string escaped_bytes(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    std::array<char, 8> text{};
    std::snprintf(text.data(), text.size(), "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    out += text.data();
  }
  return out;
}

}  // namespace

std::string visible(std::string_view text) {
  constexpr std::string_view kSpace = "·";
  const std::size_t first = text.find_first_not_of(' ');
  const std::size_t last = text.find_last_not_of(' ');
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const base::Character next = base::first_character(text.substr(at));
    const std::string_view character = text.substr(at, next.size);
    const char32_t code = next.whole ? code_of(character) : 0;
    const bool at_edge = first == std::string_view::npos || at < first || at > last;
    const bool joins = at > 0 && at + next.size < text.size();
    if (!next.whole) {
      out += escaped_bytes(character);
    } else if (code == ' ' && at_edge) {
      out += kSpace;
    } else if (is_hidden(code) || (is_joiner(code) && !joins)) {
      out += escaped_code(code);
    } else {
      out += character;
    }
    at += next.size;
  }
  return out;
}

}  // namespace attn::figure
