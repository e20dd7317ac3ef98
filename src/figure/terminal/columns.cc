#include "figure/terminal/columns.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/utf8.h"
#include "figure/terminal/character.h"

namespace attn::figure {

namespace {

// Calls f(bytes, code point) for every character; invalid bytes are U+FFFD.
template <typename F>
void each_character(std::string_view text, F&& f) {
  const std::string valid = base::replace_bad_bytes(text);
  for (std::string_view rest = valid; !rest.empty();) {
    const std::string_view character = rest.substr(0, base::first_character(rest).size);
    f(character, base::code_point(character));
    rest.remove_prefix(character.size());
  }
}

}  // namespace

std::string on_one_line(std::string_view text) {
  std::string line;
  each_character(text, [&](std::string_view bytes, char32_t c) {
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\t') {
      line += "\\t";
    } else if (is_control(c)) {
      std::array<char, 16> escape{};
      std::snprintf(escape.data(), escape.size(), "\\x%02x", static_cast<unsigned>(c));
      line += escape.data();
    } else {
      line += bytes;
    }
  });
  return line;
}

std::vector<Glyph> glyphs_of(std::string_view text) {
  std::vector<Glyph> glyphs;
  each_character(text, [&](std::string_view bytes, char32_t c) {
    const int columns = columns_of_character(c);
    if (columns == 0 && !glyphs.empty()) {
      glyphs.back().text += bytes;
    } else {
      glyphs.push_back({std::string(bytes), columns});
    }
  });
  return glyphs;
}

int columns_of(std::string_view text) {
  int all = 0;
  each_character(text, [&](std::string_view, char32_t c) { all += columns_of_character(c); });
  return all;
}

int longest(const std::vector<std::string>& labels) {
  int most = 0;
  for (const std::string& label : labels) most = std::max(most, columns_of(label));
  return most;
}

std::string fitted(std::string_view text, int width, bool to_the_right) {
  const int needed = columns_of(text);
  if (needed <= width) {
    const std::string space(static_cast<std::size_t>(width - needed), ' ');
    return to_the_right ? space + std::string(text) : std::string(text) + space;
  }
  if (width <= 0) return "";
  std::string cut;
  int used = 0;
  for (const Glyph& glyph : glyphs_of(text)) {
    if (used + glyph.columns > width - 1) break;
    cut += glyph.text;
    used += glyph.columns;
  }
  return cut + "…" + std::string(static_cast<std::size_t>(width - 1 - used), ' ');
}

std::vector<std::string> wrapped(std::string_view text, int width) {
  std::vector<std::string> lines(1);
  int used = 0;
  std::string word;
  int word_columns = 0;
  const auto end_word = [&] {
    const int gap = used == 0 ? 0 : 1;
    if (used + gap + word_columns > width && used > 0) {
      lines.emplace_back();
      used = 0;
    } else if (gap == 1) {
      lines.back() += ' ';
      used += 1;
    }
    lines.back() += word;
    used += word_columns;
    word.clear();
    word_columns = 0;
  };
  for (const Glyph& glyph : glyphs_of(text)) {
    if (glyph.text == " ") {
      if (word_columns > 0) end_word();
      continue;
    }
    if (word_columns + glyph.columns > width && word_columns > 0) end_word();
    word += glyph.text;
    word_columns += glyph.columns;
  }
  if (word_columns > 0) end_word();
  return lines;
}

std::string repeat(std::string_view text, int times) {
  std::string out;
  for (int n = 0; n < times; ++n) out += text;
  return out;
}

}  // namespace attn::figure
