#include "insight/statistics/token_sets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <string_view>

#include "base/utf8.h"

namespace attn::insight {

namespace {

constexpr std::array<std::string_view, 49> kMarks = {
    "¡",  "¿",  "«",  "»",  "·",  "–",  "—",  "‘",  "’",  "‚",  "“",  "”",  "„",  "•",  "…",  "‹",  "›",
    "、", "。", "〈", "〉", "《", "》", "「", "」", "『", "』", "【", "】", "〔", "〕", "〜", "！", "（",
    "）", "，", "－", "．", "／", "：", "；", "？", "～", "،",  "؛",  "؟",  "।",  "॥",  "჻"};

bool is_mark(std::string_view character) {
  if (character.size() == 1) return std::ispunct(static_cast<unsigned char>(character[0])) != 0;
  return std::ranges::find(kMarks, character) != kMarks.end();
}

bool lies_between(std::string_view piece, char open, char close) {
  return piece.size() > 2 && piece.front() == open && piece.back() == close;
}

}  // namespace

bool is_special(const text::Token& token) {
  if (token.special) return true;
  const std::string_view piece = token.piece;
  if (lies_between(piece, '<', '>')) return !piece.starts_with("<0x");
  return lies_between(piece, '[', ']') && std::all_of(piece.begin() + 1, piece.end() - 1,
                                                      [](unsigned char letter) { return std::isupper(letter) != 0; });
}

bool is_punctuation(const text::Token& token) {
  if (is_special(token)) return false;
  std::string_view text = token.text;
  if (text.starts_with("##") && text.size() > 2) text.remove_prefix(2);
  bool marks = false;
  while (!text.empty()) {
    const std::string_view character = text.substr(0, base::first_character(text).size);
    text.remove_prefix(character.size());
    if (character == " ") continue;
    if (!is_mark(character)) return false;
    marks = true;
  }
  return marks;
}

Repeats::Repeats(const std::vector<text::Token>& tokens)
    : order_(tokens.size()), first_(tokens.size()), place_(tokens.size()) {
  std::iota(order_.begin(), order_.end(), std::int64_t{0});
  const auto piece = [&](std::int64_t at) -> const std::string& { return tokens[static_cast<std::size_t>(at)].piece; };
  std::ranges::stable_sort(order_, {}, piece);
  std::size_t first = 0;
  for (std::size_t n = 0; n < order_.size(); ++n) {
    if (piece(order_[n]) != piece(order_[first])) first = n;
    const auto at = static_cast<std::size_t>(order_[n]);
    place_[at] = n;
    first_[at] = is_special(tokens[at]) ? n : first;
  }
}

std::span<const std::int64_t> Repeats::before(std::int64_t i) const noexcept {
  const auto at = static_cast<std::size_t>(i);
  return std::span(order_).subspan(first_[at], place_[at] - first_[at]);
}

std::span<const std::int64_t> Repeats::before(std::int64_t i, std::int64_t from, std::int64_t to) const noexcept {
  const auto all = before(i);
  const auto begin = std::ranges::lower_bound(all, from);
  return {begin, std::lower_bound(begin, all.end(), to)};
}

}  // namespace attn::insight
