// engine/mask/mask_text.cc - parses masks from text: names with integers, joined by ~, & and |.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/mask.h"
#include "engine/mask/mask_join.h"
#include "engine/mask/mask_table.h"

namespace attn {
namespace {

constexpr std::int64_t kAnyNumber = std::numeric_limits<std::int64_t>::min();
constexpr std::size_t kAnyCount = std::numeric_limits<std::size_t>::max();

struct Number {
  std::int64_t value = 0;
  std::size_t at = 0;  // its offset in the text
};
using Numbers = std::vector<Number>;

std::vector<std::int64_t> values(const Numbers& numbers) {
  std::vector<std::int64_t> out;
  out.reserve(numbers.size());
  for (const Number& n : numbers) out.push_back(n.value);
  return out;
}

// A name and its allowed arguments. `document` and `table` parse theirs themselves.
struct MaskForm {
  std::string_view name;
  std::size_t fewest, most;
  std::int64_t lowest;
  bool inf;
  std::string_view takes;
  Mask (*make)(const Numbers&);
};

constexpr std::string_view kTwoOrFour = "two numbers (length, kernel) or four (width, height, kernel width and height)";

constexpr std::array kForms = {
    MaskForm{"everything", 0, 0, 0, false, "no number", [](const Numbers&) { return Mask(); }},
    MaskForm{"causal", 0, kAnyCount, kAnyNumber, false, "any number of offsets",
             [](const Numbers& n) {
               if (n.size() > 1) return Mask(CausalPerSequence(values(n)));
               return Mask(Causal{n.empty() ? 0 : n[0].value});
             }},
    MaskForm{"window", 1, 2, 0, true, "one or two numbers",
             [](const Numbers& n) { return Mask(Window(n.front().value, n.back().value)); }},
    MaskForm{"padding", 1, kAnyCount, 0, false, "at least one number",
             [](const Numbers& n) { return Mask(Padding(values(n))); }},
    MaskForm{"prefix", 1, kAnyCount, 0, false, "at least one number",
             [](const Numbers& n) { return Mask(Prefix(values(n))); }},
    MaskForm{"document", 1, kAnyCount, kAnyNumber, false, "at least one number", nullptr},
    MaskForm{"dilated", 2, 2, 0, true, "two numbers",
             [](const Numbers& n) { return Mask(Dilated(n[0].value, n[1].value)); }},
    MaskForm{"natten", 2, 4, 1, false, kTwoOrFour,
             [](const Numbers& n) {
               if (n.size() == 2) return Mask(Natten(n[0].value, n[1].value));
               if (n.size() == 4) return Mask(Natten({n[0].value, n[1].value}, {n[2].value, n[3].value}));
               throw std::invalid_argument("natten takes " + std::string(kTwoOrFour) + ", not 3");
             }},
    MaskForm{"sparse", 1, 1, 1, false, "one number", [](const Numbers& n) { return Mask(Sparse(n[0].value)); }},
    MaskForm{"global", 1, 1, 0, false, "one number", [](const Numbers& n) { return Mask(Global(n[0].value)); }},
    MaskForm{"block", 1, 1, 1, false, "one number", [](const Numbers& n) { return Mask(Block(n[0].value)); }},
    MaskForm{"table", 1, kAnyCount, 0, false, "at least one row", nullptr},
};

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }  // UTF-8

std::string quoted(std::string_view what) { return std::string("'").append(what).append("'"); }

std::size_t columns(std::string_view text) { return text.size() - std::ranges::count_if(text, continues_character); }

// A message that stands on its own, then the text, or the part of it around the error, and a caret.
[[noreturn]] void fail_at(std::string_view text, std::size_t at, const std::string& what) {
  constexpr std::size_t kBefore = 60, kAfter = 40;
  std::size_t begin = at > kBefore ? at - kBefore : 0, end = std::min(text.size(), at + kAfter);
  while (begin > 0 && continues_character(text[begin])) --begin;
  while (end < text.size() && continues_character(text[end])) ++end;
  std::string shown(text.substr(begin, end - begin));
  std::ranges::replace_if(shown, [](char c) { return static_cast<unsigned char>(c) < 0x20U; }, ' ');
  const std::string_view cut_front = begin > 0 ? "..." : "", cut_back = end < text.size() ? "..." : "";
  const auto column = static_cast<std::int64_t>(columns(text.substr(0, at)) + 1);
  std::string message = "mask: column " + std::to_string(column) + ": " + what + "\n  ";
  message.append(cut_front).append(shown).append(cut_back).append("\n  ");
  message.append(cut_front.size() + columns(text.substr(begin, at - begin)), ' ') += '^';
  throw MaskTextError(message, column);
}

//   any    = both { "|" both }
//   both   = factor { "&" factor }
//   factor = { "~" } ( "(" any ")" | name [ "(" arguments ")" ] )
class MaskParser {
 public:
  explicit MaskParser(std::string_view text) : text_(text) {}

  Mask parse() {
    skip_spaces();
    if (done()) fail("the text is empty; write 'everything' to allow all pairs");
    Mask mask = any();
    if (!done()) fail(peek() == ')' ? "')' without '('" : "expected '&', '|' or the end, not " + found());
    return mask;
  }

 private:
  Mask any() { return chain('|', detail::Join::any, &MaskParser::both); }
  Mask both() { return chain('&', detail::Join::both, &MaskParser::factor); }

  Mask chain(char sign, detail::Join how, Mask (MaskParser::*part)()) {
    const std::size_t begin = at_;
    std::vector<Mask> parts{(this->*part)()};
    while (take(sign)) parts.push_back((this->*part)());
    if (parts.size() == 1) return parts.front();
    for (const Mask& mask : parts) limit_depth(detail::depth(mask), begin);
    return detail::join(how, parts);
  }

  Mask factor() {
    bool negated = false;
    const std::size_t begin = at_;
    while (take('~')) negated = !negated;
    Mask mask = peek() == '(' ? parenthesis() : rule();
    if (!negated) return mask;
    limit_depth(detail::depth(mask), begin);
    return ~mask;
  }

  Mask parenthesis() {
    const std::size_t begin = at_;
    limit_depth(++open_, begin);
    take('(');
    Mask mask = any();
    if (!take(')'))
      fail("expected ')' to close the '(' of column " + std::to_string(columns(text_.substr(0, begin)) + 1) + ", not " +
           found());
    --open_;
    return mask;
  }

  Mask rule() {
    const std::size_t begin = at_;
    while (!done() && is_word(text_[at_])) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    skip_spaces();
    if (name.empty()) fail("expected a name, '~' or '(', not " + found());
    const auto* form = std::ranges::find(kForms, name, &MaskForm::name);
    if (form == kForms.end()) fail_at(text_, begin, unknown(name));
    if (name == "table") return table_rule();
    if (name == "document") return document_rule(*form);
    Numbers numbers;
    if (take('(')) {
      if (peek() != ')') numbers = number_list(*form);
      close_arguments(name);
    }
    if (numbers.size() > form->most) fail_at(text_, numbers[form->most].at, count_wrong(*form, numbers.size()));
    if (numbers.size() < form->fewest) fail_at(text_, begin, count_wrong(*form, numbers.size()));
    try {
      return form->make(numbers);
    } catch (const std::invalid_argument& error) {  // numbers that do not go together
      std::string_view what = error.what();
      if (what.starts_with("mask: ")) what.remove_prefix(6);
      fail_at(text_, begin, std::string(what));
    }
  }

  static std::string unknown(std::string_view name) {
    if (name == "additive" || name == "custom") {
      return quoted(name) + " has no text form: it stands for numbers or code of the caller";
    }
    std::string what = "unknown name " + quoted(name) + "; known:";
    for (const MaskForm& form : kForms) what.append(&form == kForms.begin() ? " " : ", ").append(form.name);
    return what;
  }

  static std::string count_wrong(const MaskForm& form, std::size_t count) {
    return std::string(form.name).append(" takes ").append(form.takes).append(", not ").append(std::to_string(count));
  }

  // Ids of all sequences: of the queries, or of the keys.
  struct Ids {
    std::vector<std::int64_t> values;
    std::size_t rows = 0, length = 0;

    [[nodiscard]] View<const std::int64_t, 2> view() const {
      return {values.data(), {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(length)}};
    }
  };

  void read_ids(const MaskForm& form, Ids& ids) {
    const Numbers row = number_list(form);
    if (ids.rows > 0 && row.size() != ids.length) {
      fail_at(text_, row.front().at,
              "this sequence has " + std::to_string(row.size()) + " ids, the one before " + std::to_string(ids.length));
    }
    ids.length = row.size();
    ++ids.rows;
    for (const Number& n : row) ids.values.push_back(n.value);
  }

  Mask document_rule(const MaskForm& form) {
    open_arguments(form.name);
    Ids queries, keys;
    do {
      read_ids(form, queries);
      const bool own_keys = peek() == '/';
      if (queries.rows > 1 && own_keys != (keys.rows > 0)) fail("expected ids of keys in every sequence or in none");
      if (take('/')) read_ids(form, keys);
    } while (take(';'));
    close_arguments(form.name);
    return keys.rows == 0 ? Document(queries.view()) : Document(queries.view(), keys.view());
  }

  // Rows are separated by ',', heads by '/', sequences by ';'.
  Mask table_rule() {
    open_arguments("table");
    if (take(')')) return detail::TableRule({1, 1, 1, 0});
    std::vector<std::string_view> rows;
    std::size_t queries = 0, heads = 0, sequences = 0;  // the first two are 0 until the first head or sequence ends
    std::size_t row_count = 0, head_count = 0;          // so far in this head, in this sequence
    for (char sign = ','; sign != ')';) {
      const std::size_t begin = at_;
      rows.push_back(table_row(rows.empty() ? 0 : rows.front().size()));
      sign = table_sign();
      ++row_count;
      if (sign == ',') continue;
      match(queries, std::exchange(row_count, 0), "rows in this head", begin);
      ++head_count;
      if (sign == '/') continue;
      match(heads, std::exchange(head_count, 0), "heads in this sequence", begin);
      ++sequences;
    }
    const auto n = [](std::size_t count) { return static_cast<std::int64_t>(count); };
    detail::TableRule rule({n(sequences), n(heads), n(queries), n(rows.front().size())});
    for (std::size_t r = 0; r < rows.size(); ++r) {
      rule.fill_row(n(r / (queries * heads)), n(r / queries % heads), n(r % queries),
                    [&](std::int64_t j) { return rows[r][j] == '1'; });
    }
    return rule;
  }

  char table_sign() {
    const char sign = peek();
    if (sign == '\0' || std::string_view(",/;)").find(sign) == std::string_view::npos)
      fail("expected 0, 1, ',', '/', ';' or ')', not " + found());
    take(sign);
    return sign;
  }

  void match(std::size_t& known, std::size_t count, const char* what, std::size_t at) const {
    if (known == 0) known = count;
    if (known != count)
      fail_at(text_, at, std::to_string(count) + " " + what + ", but " + std::to_string(known) + " before");
  }

  std::string_view table_row(std::size_t length) {
    const std::size_t begin = at_;
    while (!done() && (text_[at_] == '0' || text_[at_] == '1')) ++at_;
    const std::string_view row = text_.substr(begin, at_ - begin);
    if (row.empty()) fail("expected a row of 0 and 1, not " + found());
    if (length != 0 && row.size() != length) {
      fail_at(text_, begin,
              "this row has " + std::to_string(row.size()) + " keys, the first one " + std::to_string(length));
    }
    skip_spaces();
    return row;
  }

  Numbers number_list(const MaskForm& form) {
    Numbers numbers;
    do {
      numbers.push_back(number(form));
    } while (take(','));
    return numbers;
  }

  Number number(const MaskForm& form) {
    Number n{0, at_};
    const std::string_view rest = text_.substr(at_);
    if (form.inf && rest.starts_with("inf") && (rest.size() == 3 || !is_word(rest[3]))) {
      n.value = kUnlimited;
      at_ += 3;
      skip_spaces();
      return n;
    }
    const std::size_t sign = rest.starts_with('-') ? 1 : 0;
    if (rest.size() == sign || !is_digit(rest[sign])) fail("expected a whole number, not " + found());
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), n.value);
    const std::string digits(rest.substr(0, end - rest.data()));
    if (error != std::errc{}) fail("the number " + shortened(digits) + " does not fit 64 bits");
    if (n.value < form.lowest) {
      fail(std::string(form.name) + " takes numbers from " + std::to_string(form.lowest) + " on, not " + digits);
    }
    at_ += digits.size();
    skip_spaces();
    return n;
  }

  static std::string shortened(const std::string& digits) {
    return digits.size() > 24 ? digits.substr(0, 21) + "..." : digits;
  }

  void open_arguments(std::string_view name) {
    if (!take('(')) fail(std::string(name) + " needs its values in parentheses; expected '(', not " + found());
  }
  void close_arguments(std::string_view name) {
    if (!take(')')) fail("expected ',' or ')' in the numbers of " + std::string(name) + ", not " + found());
  }

  void limit_depth(int depth, std::size_t at) const {
    if (depth >= kMaxMaskDepth) {
      fail_at(text_, at, "nested deeper than " + std::to_string(kMaxMaskDepth));
    }
  }

  [[nodiscard]] bool done() const { return at_ == text_.size(); }
  [[nodiscard]] char peek() const { return done() ? '\0' : text_[at_]; }
  void skip_spaces() {
    while (!done() && is_space(text_[at_])) ++at_;
  }
  bool take(char c) {
    if (done() || text_[at_] != c) return false;
    ++at_;
    skip_spaces();
    return true;
  }

  [[nodiscard]] std::string found() const {
    if (done()) return "the end";
    std::size_t end = at_ + 1;
    while (end < text_.size() && continues_character(text_[end])) ++end;
    return quoted(text_.substr(at_, end - at_));
  }
  [[noreturn]] void fail(const std::string& what) const { fail_at(text_, at_, what); }

  std::string_view text_;
  std::size_t at_ = 0;
  int open_ = 0;  // open parentheses
};

}  // namespace

Mask parse_mask(std::string_view text) { return MaskParser(text).parse(); }

}  // namespace attn
