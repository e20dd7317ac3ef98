#include "figure/terminal/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "engine/runtime/number_text.h"
#include "figure/colour/shade.h"
#include "figure/terminal/columns.h"

namespace attn::figure {
namespace {

constexpr int kWidestText = 88;  // longer lines are tiring to read
constexpr int kNarrowest = 40;
constexpr int kWidest = 1000;
constexpr double kGreen = 0.62;  // a place in viridis that stands out on dark and on light

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int columns(bool is_terminal) {
  winsize size{};
  if (is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const int columns = std::atoi(environment("COLUMNS").c_str());
  return columns > 0 ? std::min(columns, kWidest) : 80;
}

const Colour& colour_of(double weight) {
  static const Shader shader({.cmap = "viridis", .range = Range{0, 1}}, {0, 1});
  return shader.colour(weight);
}

Screen::Colours colours_of_terminal() {
  using enum Screen::Colours;
  const std::string depth = environment("COLORTERM");
  if (depth == "truecolor" || depth == "24bit") return direct;
  return environment("TERM").find("256color") == std::string::npos ? none : indexed;
}

bool is_one_of(std::string_view glyph, std::string_view marks) { return marks.find(glyph) != std::string_view::npos; }

// Splits a word where a line may break: before and after each Chinese character, but not between it and its
// punctuation. Returns one empty part for an empty word.
std::vector<std::string> breakable(const std::string& word) {
  static constexpr std::string_view kClosing = "，。、；：！？”’）】》", kOpening = "“‘（【《";
  std::vector<std::string> parts(1);
  bool may_end = false, opened = false;  // after the last glyph
  for (const Glyph& glyph : glyphs_of(word)) {
    const bool opens = is_one_of(glyph.text, kOpening), closes = is_one_of(glyph.text, kClosing);
    const bool may_begin = !opened && !closes && (may_end || opens || glyph.columns > 1);
    if (may_begin && !parts.back().empty()) parts.emplace_back();
    parts.back() += glyph.text;
    may_end = glyph.columns > 1;
    opened = opens;
  }
  return parts;
}

}  // namespace

Terminal::Terminal(const Screen& screen, bool styled)
    : screen_(screen),
      brush_(screen.colours),
      width_(std::clamp(screen.width, kNarrowest, kWidestText)),
      styled_(styled) {}

Terminal Terminal::of_stdout() {
  const bool is_terminal = isatty(STDOUT_FILENO) != 0;
  const bool styled = is_terminal && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  return {{columns(is_terminal), styled ? colours_of_terminal() : Screen::Colours::none}, styled};
}

std::string Terminal::in_style(std::string_view code, std::string_view text) const {
  if (!styled_) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

std::string Terminal::styled(const Phrase& phrase) const {
  using enum Phrase::Style;
  if (phrase.text.empty() || phrase.style == plain) return phrase.text;
  return phrase.style == bold ? this->bold(phrase.text) : this->dim(phrase.text);
}

std::string Terminal::sentence(const std::vector<Phrase>& phrases, int indent) const {
  const int room = width_ - indent;
  std::string out;
  int used = 0;  // columns used on the line
  for (const Phrase& phrase : phrases) {
    Phrase run{"", phrase.style};  // the text of one style on the line
    const auto add = [&](const std::string& word, bool apart) {
      const int size = columns_of(word), gap = used > 0 && apart ? 1 : 0;
      if (used > 0 && used + gap + size > room) {
        out += styled(run) + "\n" + repeat(" ", indent);
        run.text.clear();
        used = 0;
      }
      if (used == 0 && word.empty()) return;
      run.text += (used > 0 && apart ? " " : "") + word;
      used += size + (used > 0 && apart ? 1 : 0);
    };
    for (std::size_t from = 0; from <= phrase.text.size();) {
      const std::size_t end = std::min(phrase.text.find(' ', from), phrase.text.size());
      bool apart = true;  // whether a space precedes it
      for (const std::string& part : breakable(phrase.text.substr(from, end - from))) {
        if (columns_of(part) <= room) {
          add(part, apart);
        } else {
          for (const std::string& piece : wrapped(part, room)) add(piece, apart);
        }
        apart = false;
      }
      from = end + 1;
    }
    out += styled(run);
  }
  return without_blank_ends(out + "\n");
}

std::string Terminal::cell(double weight, int width) const {
  if (coloured()) return brush_.on(right(number(weight, 2) + " ", width), colour_of(weight));
  return repeat(block_of(weight), width - 1) + " ";
}

std::string Terminal::shaded(std::string_view text, double weight) const { return brush_.on(text, colour_of(weight)); }

std::string Terminal::pair(bool seen) const {
  if (coloured()) return brush_.on("  ", colour_of(seen ? kGreen : 0));
  return seen ? "██" : dim("· ");
}

std::string Terminal::bar(double share, int width) const { return brush_.in(bar_of(share, width), colour_of(kGreen)); }

std::string Terminal::line() const { return dim(repeat("─", width_ - 4)); }

std::string number(double value, int digits) { return number_text(value, std::chars_format::fixed, digits); }

std::string without_blank_ends(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') out.erase(out.find_last_not_of(' ') + 1);
    out += c;
  }
  return out;
}

std::string right(std::string_view text, int width) {
  return repeat(" ", width - static_cast<int>(text.size())) + std::string(text);
}

std::string left(std::string_view text, int width) {
  return std::string(text) + repeat(" ", width - static_cast<int>(text.size()));
}

}  // namespace attn::figure
