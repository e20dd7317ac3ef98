// figure/layout/typesetter_wasm.cc - the host measures text with the browser's fonts; nothing is drawn here.
#include <algorithm>

#include "base/utf8.h"
#include "figure/layout/typesetter.h"

extern "C" {
// The width of UTF-8 text in the families of kSvgFamilies.
[[clang::import_module("host"), clang::import_name("text_width")]] double attn_host_text_width(const char* text,
                                                                                               std::size_t bytes,
                                                                                               double size, int bold);
}

namespace attn::figure {

namespace {

// The ends of the characters of a text, in bytes.
std::vector<std::size_t> character_ends(std::string_view text) {
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; at < text.size();) ends.push_back(at += base::first_character(text.substr(at)).size);
  return ends;
}

// How many bytes of the text fit into `room`, in whole characters.
std::size_t bytes_that_fit(const Typesetter& typesetter, std::string_view text, const Typeface& type, double room,
                           std::string_view after = {}) {
  const std::vector<std::size_t> ends = character_ends(text);
  const auto too_wide = std::ranges::partition_point(ends, [&](std::size_t end) {
    return typesetter.width(std::string(text.substr(0, end)) + std::string(after), type) <= room;
  });
  return too_wide == ends.begin() ? 0 : *(too_wide - 1);
}

// Hebrew, Arabic and their neighbours, and their presentation forms.
bool is_leftward(char32_t c) {
  return (c >= 0x590 && c < 0x900) || (c >= 0xFB1D && c < 0xFE00) || (c >= 0xFE70 && c < 0xFF00) ||
         (c >= 0x10800 && c < 0x11000) || (c >= 0x1E800 && c < 0x1F000);
}

bool is_rightward(char32_t c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c >= 0xC0; }

}  // namespace

struct Typesetter::Fonts {};

Typesetter::Typesetter() = default;
Typesetter::~Typesetter() = default;
Typesetter::Typesetter(Typesetter&&) noexcept = default;

double Typesetter::width(std::string_view text, const Typeface& type) const {
  return attn_host_text_width(text.data(), text.size(), type.size, type.bold ? 1 : 0);
}

std::string Typesetter::fitted(std::string_view text, const Typeface& type, double room) const {
  if (width(text, type) <= room) return std::string(text);
  return std::string(text.substr(0, bytes_that_fit(*this, text, type, room, "…"))) + "…";
}

std::vector<std::string> Typesetter::lines(std::string_view text, const Typeface& type, double room) const {
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::size_t end = bytes_that_fit(*this, text, type, room);
    const std::size_t space = text.rfind(' ', end);
    if (end < text.size() && space != std::string_view::npos && space > 0) end = space;
    end = std::max(end, base::first_character(text).size);
    std::string_view part = text.substr(0, end);
    text.remove_prefix(end);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) lines.emplace_back(part);
  }
  return lines;
}

std::optional<char32_t> Typesetter::first_missing(std::string_view) const { return std::nullopt; }

// By the first letter that has a direction, as Unicode's rule P2 has it.
bool Typesetter::runs_to_the_left(std::string_view text) const {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = base::first_character(text.substr(at)).size;
    const char32_t c = base::code_point(text.substr(at, size));
    if (is_leftward(c)) return true;
    if (is_rightward(c)) return false;
    at += size;
  }
  return false;
}

}  // namespace attn::figure
