// figure/layout/typesetter.h - measures and draws text, in one typeface for all figures: with pango (typesetter.cc), or
// by asking the browser (typesetter_wasm.cc).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "figure/scene/scene.h"

using cairo_t = struct _cairo;  // NOLINT(bugprone-reserved-identifier): cairo's own name

namespace attn::figure {

// From the middle of the capitals down to the baseline, as a multiple of the type size.
constexpr double kBaseline = 0.36;

// The font-family list of an SVG, whose viewer may have other fonts.
constexpr std::string_view kSvgFamilies =
    "'Noto Sans','Noto Sans CJK SC','DejaVu Sans','Helvetica Neue',Arial,'PingFang SC','Microsoft YaHei',"
    "sans-serif";

struct Typeface {
  double size = 9;
  bool bold = false;
};

// Not thread-safe. The first text of a process takes 10 to 20 ms, to search for fonts.
class Typesetter {
 public:
  Typesetter();
  explicit Typesetter(cairo_t* canvas);  // draws on this canvas
  ~Typesetter();
  Typesetter(Typesetter&&) noexcept;

  [[nodiscard]] double width(std::string_view text, const Typeface& type) const;
  // The text, cut with … if it does not fit.
  [[nodiscard]] std::string fitted(std::string_view text, const Typeface& type, double width) const;
  // Breaks lines between words, and inside a word that is wider than a line.
  [[nodiscard]] std::vector<std::string> lines(std::string_view text, const Typeface& type, double width) const;
  // The first character that no installed font has, and that would be drawn as a box.
  [[nodiscard]] std::optional<char32_t> first_missing(std::string_view text) const;
  // Whether the line runs from right to left.
  [[nodiscard]] bool runs_to_the_left(std::string_view text) const;

  void draw(cairo_t* canvas, const Writing& writing) const;

 private:
  struct Fonts;
  std::unique_ptr<Fonts> fonts_;
};

}  // namespace attn::figure
