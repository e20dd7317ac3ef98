// figure/terminal/terminal.h - what the output supports: width, styles, colours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "figure/scene/figure.h"
#include "figure/terminal/paint.h"

namespace attn::figure {

// Words of a sentence in one style.
struct Phrase {
  enum class Style { plain, bold, dim };

  std::string text;
  Style style = Style::plain;
};

class Terminal {
 public:
  // Queries stdout and the environment: COLUMNS, NO_COLOR, TERM, COLORTERM. A pipe gets plain text, 80 columns wide.
  static Terminal of_stdout();

  Terminal(const Screen& screen, bool styled);

  [[nodiscard]] int width() const { return width_; }  // of text, limited because long lines are tiring to read
  [[nodiscard]] bool coloured() const { return brush_.coloured(); }
  // For figures, which use the full width.
  [[nodiscard]] const Screen& screen() const { return screen_; }

  [[nodiscard]] std::string bold(std::string_view text) const { return in_style("1", text); }
  [[nodiscard]] std::string dim(std::string_view text) const { return in_style("2", text); }

  // Joins phrases with spaces and wraps them to lines of at most width(); each line ends in \n. Lines after the first
  // begin with `indent` spaces; the caller has already written as many before the first.
  [[nodiscard]] std::string sentence(const std::vector<Phrase>& phrases, int indent = 0) const;
  [[nodiscard]] std::string note(std::string text) const { return sentence({{std::move(text), Phrase::Style::dim}}); }

  // A weight in [0, 1] as a cell of `width` columns: a shade of colour with the number on it, or a shaded block.
  [[nodiscard]] std::string cell(double weight, int width) const;
  // Words on a shade of colour for a weight in [0, 1]; unchanged without colours.
  [[nodiscard]] std::string shaded(std::string_view text, double weight) const;
  // One cell of a mask, two columns wide.
  [[nodiscard]] std::string pair(bool seen) const;
  // A bar of at most `width` columns.
  [[nodiscard]] std::string bar(double share, int width) const;
  [[nodiscard]] std::string line() const;

 private:
  [[nodiscard]] std::string styled(const Phrase& phrase) const;
  [[nodiscard]] std::string in_style(std::string_view code, std::string_view text) const;

  Screen screen_;
  Brush brush_;
  int width_;
  bool styled_;  // bold and dim
};

// Formats a number with `digits` decimals.
std::string number(double value, int digits);

// Strips the spaces at the ends of lines that pad fields and bars.
std::string without_blank_ends(std::string_view text);

// Pads text at the left or right of a field; ASCII only, so that bytes are columns.
std::string right(std::string_view text, int width);
std::string left(std::string_view text, int width);

}  // namespace attn::figure
