#include "base/utf8.h"

#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace attn::base {
namespace {

constexpr std::string_view kReplacement = "\uFFFD";

// The length of a character that starts with `lead` (0: none does), and the range of its second byte, which excludes
// overlong forms, surrogates and code points beyond U+10FFFF.
struct Lead {
  std::size_t size = 0;
  unsigned char low = 0x80, high = 0xBF;
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1};
  if (byte < 0xC2) return {0};
  if (byte < 0xE0) return {2};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0};
}

std::size_t ascii_prefix(std::string_view text) {
  std::size_t at = 0;
  for (std::uint64_t eight = 0; at + sizeof eight <= text.size(); at += sizeof eight) {
    std::memcpy(&eight, text.data() + at, sizeof eight);
    if ((eight & 0x8080808080808080u) != 0) break;
  }
  return at;
}

std::string characters(std::string_view bytes, std::size_t& taken, bool leave_cut) {
  std::string out;
  out.reserve(bytes.size());
  for (taken = 0; taken < bytes.size();) {
    const Character next = first_character(bytes.substr(taken));
    if (next.cut && leave_cut) break;
    out += next.whole ? bytes.substr(taken, next.size) : kReplacement;
    taken += next.size;
  }
  return out;
}

}  // namespace

Character first_character(std::string_view bytes) {
  const Lead lead = lead_of(static_cast<unsigned char>(bytes[0]));
  if (lead.size == 0) return {};
  for (std::size_t i = 1; i < lead.size; ++i) {
    if (i == bytes.size()) return {.size = i, .whole = false, .cut = true};
    const auto byte = static_cast<unsigned char>(bytes[i]);
    const bool good = i == 1 ? byte >= lead.low && byte <= lead.high : (byte & 0xC0) == 0x80;
    if (!good) return {.size = i};
  }
  return {.size = lead.size, .whole = true};
}

char32_t code_point(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return lead;
  char32_t code = lead & (0x7FU >> character.size());
  for (const char next : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(next) & 0x3FU);
  return code;
}

std::optional<std::size_t> first_bad_byte(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    at += ascii_prefix(text.substr(at));
    if (at == text.size()) break;
    const Character next = first_character(text.substr(at));
    if (!next.whole) return at;
    at += next.size;
  }
  return std::nullopt;
}

void require_utf8(std::string_view text, const char* name) {
  const auto bad = first_bad_byte(text);
  if (!bad) return;
  constexpr std::string_view digits = "0123456789abcdef";
  const auto value = static_cast<unsigned char>(text[*bad]);
  throw std::invalid_argument(std::string(name) + " is not UTF-8: byte " + std::to_string(*bad) + " is 0x" +
                              digits[value >> 4] + digits[value & 15] + ", which begins no character there");
}

std::string take_characters(std::string& bytes) {
  std::size_t taken = 0;
  std::string out = characters(bytes, taken, true);
  bytes.erase(0, taken);
  return out;
}

std::string replace_bad_bytes(std::string_view bytes) {
  std::size_t taken = 0;
  return characters(bytes, taken, false);
}

}  // namespace attn::base
