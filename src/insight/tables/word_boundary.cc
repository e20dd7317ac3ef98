#include "insight/tables/word_boundary.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include "base/utf8.h"

namespace attn::insight {

namespace {

constexpr std::string_view kGoesOn = "##";          // WordPiece
constexpr std::string_view kSpacePiece = "\u2581";  // ▁ of SentencePiece

// The role of a character in words.
enum class Sort : std::uint8_t { letter, punctuation, chinese, picture, joint, line };

struct CharacterRange {
  char32_t from, to;
  Sort sort;
};
// Everything else is a letter. Chinese is defined as in BERT's tokenizer; pictures are emoji, joints the joiners and
// modifiers between them.
constexpr CharacterRange kSorts[] = {
    {0x00, 0x1F, Sort::line},
    {0x20, 0x2F, Sort::punctuation},
    {0x3A, 0x40, Sort::punctuation},
    {0x5B, 0x60, Sort::punctuation},
    {0x7B, 0x7E, Sort::punctuation},
    {0xA1, 0xA9, Sort::punctuation},
    {0xAB, 0xB1, Sort::punctuation},
    {0xB4, 0xB4, Sort::punctuation},
    {0xB6, 0xB8, Sort::punctuation},
    {0xBB, 0xBF, Sort::punctuation},
    {0xD7, 0xD7, Sort::punctuation},
    {0xF7, 0xF7, Sort::punctuation},
    {0x200B, 0x200F, Sort::joint},
    {0x2010, 0x205E, Sort::punctuation},
    {0x2060, 0x2064, Sort::joint},
    {0x20A0, 0x20CF, Sort::punctuation},
    {0x2190, 0x25FF, Sort::punctuation},
    {0x2600, 0x27BF, Sort::picture},
    {0x3000, 0x3004, Sort::punctuation},
    {0x3008, 0x3020, Sort::punctuation},
    {0x3400, 0x4DBF, Sort::chinese},
    {0x4E00, 0x9FFF, Sort::chinese},
    {0xF900, 0xFAFF, Sort::chinese},
    {0xFE00, 0xFE0F, Sort::joint},
    {0xFF01, 0xFF0F, Sort::punctuation},
    {0xFF1A, 0xFF20, Sort::punctuation},
    {0xFF3B, 0xFF40, Sort::punctuation},
    {0xFF5B, 0xFF65, Sort::punctuation},
    {0x1F000, 0x1F3FA, Sort::picture},
    {0x1F3FB, 0x1F3FF, Sort::joint},
    {0x1F400, 0x1FAFF, Sort::picture},
    {0x20000, 0x2FA1F, Sort::chinese},
};

Sort sort_of(char32_t code) {
  const auto* const found = std::lower_bound(std::begin(kSorts), std::end(kSorts), code,
                                             [](const CharacterRange& r, char32_t c) { return r.to < c; });
  return found != std::end(kSorts) && code >= found->from ? found->sort : Sort::letter;
}

// The characters of a token without leading spaces. A placeholder such as "<unk>" or "<0xE4>" counts as one unknown
// character.
class Characters {
 public:
  explicit Characters(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.size() > 2 && text.front() == '<' && text.back() == '>') text = "\uFFFD";
    while (!text.empty()) {
      const std::string_view one = text.substr(0, base::first_character(text).size);
      all_.push_back(code_of(one));
      text.remove_prefix(one.size());
    }
  }

  [[nodiscard]] const std::u32string& all() const noexcept { return all_; }
  // 0 if there is none. A subscript digit numbers the parts of a character and is not a character of its own.
  [[nodiscard]] char32_t first() const noexcept { return all_.empty() ? 0 : all_.front(); }
  [[nodiscard]] char32_t last() const noexcept {
    if (all_.empty()) return 0;
    return part_of(all_.back()) > 0 && all_.size() > 1 ? all_[all_.size() - 2] : all_.back();
  }

  // 1 to 4 for "₁" to "₄", else 0.
  static int part_of(char32_t code) noexcept {
    return code >= 0x2081 && code <= 0x2084 ? static_cast<int>(code) - 0x2080 : 0;
  }

 private:
  static char32_t code_of(std::string_view bytes) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    if (bytes.size() == 1) return byte(0);
    char32_t code = byte(0) & (0x7FU >> bytes.size());
    for (std::size_t i = 1; i < bytes.size(); ++i) code = (code << 6) | (byte(i) & 0x3FU);
    return code;
  }

  std::u32string all_;
};

// Whether b begins with the next part of the character that a ends with: "😀₁", "😀₂".
bool shares_character(std::string_view a, std::string_view b) {
  const std::u32string left = Characters(a).all(), right = Characters(b).all();
  if (left.size() < 2 || right.size() < 2 || b.starts_with(' ')) return false;
  const int part = Characters::part_of(left.back());
  return part > 0 && Characters::part_of(right[1]) == part + 1 && left[left.size() - 2] == right[0];
}

bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_apostrophe(char32_t c) { return c == '\'' || c == 0x2019; }
bool is_blank(std::string_view text) { return text.find_first_not_of(' ') == std::string_view::npos; }

}  // namespace

WordBoundary::WordBoundary(std::span<const text::Token> tokens) : tokens_(tokens) {
  for (const text::Token& token : tokens) {
    sentence_piece_ = sentence_piece_ || token.piece.find(kSpacePiece) != std::string::npos;
    spaced_ = spaced_ || token.text.starts_with(' ');
  }
}

bool WordBoundary::operator()(std::size_t i) const {
  const text::Token &before = tokens_[i - 1], &here = tokens_[i];
  if (before.special || here.special || before.sequence != here.sequence) return true;
  if (shares_character(before.text, here.text)) return false;
  if (before.word && here.word) {
    if (*before.word != *here.word) return true;
    if (!sentence_piece_) {
      return !is_blank(before.text) && (sort_of(Characters(before.text).last()) == Sort::chinese ||
                                        sort_of(Characters(here.text).first()) == Sort::chinese);
    }
  } else {
    if (here.piece.starts_with(kGoesOn)) return false;
    if (!spaced_) return true;
  }
  if (is_blank(before.text)) return false;
  return here.text.starts_with(' ') || between_characters(i);
}

// Whether a word begins at token i although no space precedes it.
bool WordBoundary::between_characters(std::size_t i) const {
  const Sort left = sort_of(Characters(tokens_[i - 1].text).last());
  const Sort right = sort_of(Characters(tokens_[i].text).first());
  if (left == Sort::line || right == Sort::line) return true;
  if (left == Sort::joint || right == Sort::joint) return false;
  if (left == Sort::chinese || right == Sort::chinese) return true;
  return left != right && !inside_word(i);
}

// "didn't" and "3.14": whether the boundary before token i touches punctuation that has letters on both sides.
bool WordBoundary::inside_word(std::size_t i) const {
  const auto last = [&](std::size_t t) { return Characters(tokens_[t].text).last(); };
  const auto first = [&](std::size_t t) {
    return tokens_[t].text.starts_with(' ') ? 0 : Characters(tokens_[t].text).first();
  };
  const auto binds = [&](char32_t left, const std::u32string& between, char32_t right) {
    if (between.size() != 1 || left == 0 || right == 0) return false;
    if (is_apostrophe(between[0])) return sort_of(left) == Sort::letter && sort_of(right) == Sort::letter;
    return (between[0] == '.' || between[0] == ',') && is_digit(left) && is_digit(right);
  };
  const std::u32string here = Characters(tokens_[i].text).all();
  if (here.size() > 1 && is_apostrophe(here[0])) return sort_of(here[1]) == Sort::letter;  // "'s"
  if (i + 1 < tokens_.size() && binds(last(i - 1), here, first(i + 1))) return true;
  return i > 1 && first(i - 1) != 0 && binds(last(i - 2), Characters(tokens_[i - 1].text).all(), first(i));
}

std::string joined_text(std::span<const text::Token> tokens) {
  constexpr std::size_t kPart = std::string_view("\u2081").size();
  std::string out = tokens.front().text;
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    std::string_view next = tokens[i].text;
    if (tokens[i].piece.starts_with(kGoesOn) && next.starts_with(kGoesOn)) next.remove_prefix(kGoesOn.size());
    if (shares_character(tokens[i - 1].text, tokens[i].text)) {
      const std::size_t character = base::first_character(next).size;
      out.erase(out.size() - kPart);
      const bool last_part = next.size() > character + kPart || i + 1 == tokens.size() ||
                             !shares_character(tokens[i].text, tokens[i + 1].text);
      next.remove_prefix(character);
      if (last_part) next.remove_prefix(kPart);
    }
    out += next;
  }
  return out;
}

std::string_view without_spaces_around(std::string_view text) {
  const std::size_t from = text.find_first_not_of(' ');
  if (from == std::string_view::npos) return text;
  return text.substr(from, text.find_last_not_of(' ') + 1 - from);
}

}  // namespace attn::insight
