#include "base/one_line.h"

#include <algorithm>
#include <cstddef>

namespace attn::base {

namespace {

// Length in bytes of the UTF-8 character at the start of text; 0 if it is not valid.
std::size_t utf8_length(std::string_view text) noexcept {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  return length;
}

}  // namespace

std::string one_line(std::string_view text) {
  constexpr std::size_t kMost = 120;
  std::string line;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (line.size() + std::max<std::size_t>(length, 1) > kMost) return line + "...";
    const auto first = static_cast<unsigned char>(text[0]);
    if (length == 0 || first < 0x20 || first == 0x7f)
      line += '?';
    else
      line += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return line;
}

std::string in_quotes(std::string_view text) { return "'" + one_line(text) + "'"; }

}  // namespace attn::base
