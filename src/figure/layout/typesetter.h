// figure/layout/typesetter.h - one typeface for every figure: how wide words are, and how they are drawn.
#pragma once

#include <pango/pangocairo.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "figure/scene/scene.h"

namespace attn::figure {

// From the middle of the capitals down to the line that letters stand on, in sizes of the type.
constexpr double kBaseline = 0.36;

// The same choice for programs that draw an SVG, which may have other fonts.
constexpr std::string_view kSvgFamilies =
    "'Noto Sans','Noto Sans CJK SC','DejaVu Sans','Helvetica Neue',Arial,'PingFang SC','Microsoft YaHei',"
    "sans-serif";

struct Typeface {
  double size = 9;
  bool bold = false;
};

// Not for two threads at once. The first word of a process takes 10 to 20 ms: fonts are looked for.
class Typesetter {
 public:
  Typesetter();
  explicit Typesetter(cairo_t* canvas);  // to draw on it

  [[nodiscard]] double width(std::string_view text, const Typeface& type) const;
  // The text, or as much of it as fits, with … at its end.
  [[nodiscard]] std::string fitted(std::string_view text, const Typeface& type, double width) const;
  // Broken between words; a word that is wider than a line is broken too.
  [[nodiscard]] std::vector<std::string> lines(std::string_view text, const Typeface& type, double width) const;
  // The first character that no installed font has: a box would be drawn.
  [[nodiscard]] std::optional<char32_t> first_missing(std::string_view text) const;
  // Whether a line begins at its right end.
  [[nodiscard]] bool runs_to_the_left(std::string_view text) const;

  void draw(cairo_t* canvas, const Writing& writing) const;

 private:
  void set(std::string_view text, const Typeface& type) const;

  struct Unref {
    void operator()(void* object) const noexcept { g_object_unref(object); }
  };
  struct Free {
    void operator()(PangoFontDescription* font) const noexcept { pango_font_description_free(font); }
    void operator()(PangoLayoutIter* iterator) const noexcept { pango_layout_iter_free(iterator); }
  };
  std::unique_ptr<PangoContext, Unref> context_;
  std::unique_ptr<PangoLayout, Unref> layout_;
  std::unique_ptr<PangoFontDescription, Free> font_;
};

}  // namespace attn::figure
