// cli/terminal.cc
#include "terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace attn::cli {
namespace {

constexpr int kWidestText = 88;  // lines longer than this are tiring to read
constexpr int kNarrowest = 40;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int columns(bool is_terminal) {
  winsize size{};
  if (is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const int columns = std::atoi(environment("COLUMNS").c_str());
  return columns > 0 ? columns : 80;
}

struct Colour {
  double r, g, b;
};

// From night blue over sea green to straw: even steps of lightness, so that twice the weight looks like twice as much.
Colour colour_of(double weight) {
  static constexpr std::array<Colour, 4> kStops = {{{37, 43, 72}, {44, 104, 132}, {98, 176, 140}, {246, 220, 120}}};
  const double at = std::clamp(weight, 0.0, 1.0) * (kStops.size() - 1);
  const auto stop = std::min(static_cast<std::size_t>(at), kStops.size() - 2);
  const double t = at - static_cast<double>(stop);
  const Colour &a = kStops[stop], &b = kStops[stop + 1];
  return {std::lerp(a.r, b.r, t), std::lerp(a.g, b.g, t), std::lerp(a.b, b.b, t)};
}

std::string triple(const Colour& c) { return number(c.r, 0) + ";" + number(c.g, 0) + ";" + number(c.b, 0); }

}  // namespace

Terminal Terminal::of_stdout() {
  const bool is_terminal = isatty(STDOUT_FILENO) != 0;
  const bool styled = is_terminal && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  const std::string depth = environment("COLORTERM");
  const int width = std::clamp(columns(is_terminal), kNarrowest, kWidestText);
  return {width, styled, styled && (depth == "truecolor" || depth == "24bit")};
}

std::string Terminal::in_style(std::string_view code, std::string_view text) const {
  if (!styled_) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

std::string Terminal::cell(double weight, int width) const {
  if (coloured_) {
    const std::string_view ink = weight > 0.55 ? "30;33;48" : "238;240;245";
    return "\x1b[48;2;" + triple(colour_of(weight)) + "m\x1b[38;2;" + std::string(ink) + "m" +
           right(number(weight, 2) + " ", width) + "\x1b[0m";
  }
  const char* shade = weight < 0.03 ? "·" : weight < 0.15 ? "░" : weight < 0.35 ? "▒" : weight < 0.6 ? "▓" : "█";
  return repeat(shade, width - 1) + " ";
}

std::string Terminal::pair(bool seen) const {
  if (coloured_) return "\x1b[48;2;" + triple(colour_of(seen ? 0.62 : 0.0)) + "m  \x1b[0m";
  return seen ? "██" : dim("· ");
}

std::string Terminal::bar(double share, int width) const {
  const int length = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * width));
  const std::string blocks = repeat("█", length);
  const std::string rest = repeat(" ", width - length);
  if (coloured_) return "\x1b[38;2;" + triple(colour_of(0.62)) + "m" + blocks + "\x1b[0m" + rest;
  return blocks + rest;
}

std::string Terminal::line() const { return dim(repeat("─", width_ - 4)); }

std::string repeat(std::string_view text, int times) {
  std::string out;
  for (int n = 0; n < times; ++n) out += text;
  return out;
}

std::string number(double value, int digits) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.*f", digits, value);
  return buffer.data();
}

std::string grouped(long long value) {
  std::string digits = std::to_string(value);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, ",");
  return digits;
}

std::string right(std::string_view text, int width) {
  return repeat(" ", width - static_cast<int>(text.size())) + std::string(text);
}

std::string left(std::string_view text, int width) {
  return std::string(text) + repeat(" ", width - static_cast<int>(text.size()));
}

}  // namespace attn::cli
