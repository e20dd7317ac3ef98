#include "figure/scene/named_tokens.h"

#include <charconv>
#include <stdexcept>

#include "figure/terminal/columns.h"
#include "insight/statistics/words_attended.h"

namespace attn::figure {

namespace {

// Strips the spaces that some tokenizers put in front of words.
std::vector<text::Token> trimmed(std::vector<text::Token> tokens) {
  for (text::Token& token : tokens) {
    const std::size_t from = token.text.find_first_not_of(' ');
    if (from != std::string::npos) token.text = token.text.substr(from, token.text.find_last_not_of(' ') + 1 - from);
  }
  return tokens;
}

}  // namespace

std::vector<std::int64_t> named_tokens(const std::vector<text::Token>& as_they_are, const std::string& asked,
                                       std::string_view what) {
  std::vector<std::int64_t> found = insight::find_words(as_they_are, asked);
  if (!found.empty()) return found;
  const std::vector<text::Token> tokens = trimmed(as_they_are);
  found = insight::find_words(tokens, asked);
  if (!found.empty()) return found;
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(asked.data(), asked.data() + asked.size(), number);
  const bool is_number = problem == std::errc() && end == asked.data() + asked.size();
  if (is_number && number >= 0 && number < std::ssize(tokens)) return {number};
  std::string nearest;
  for (const std::string& name : insight::nearest_words(tokens, asked, 3))
    nearest += (nearest.empty() ? "the nearest are '" : ", '") + on_one_line(name) + "'";
  throw std::invalid_argument("there is no " + std::string(what) + " '" + on_one_line(asked) + "': " + nearest +
                              (nearest.empty() ? "" : "; ") + "numbers go from 0 to " +
                              std::to_string(tokens.size() - 1));
}

}  // namespace attn::figure
