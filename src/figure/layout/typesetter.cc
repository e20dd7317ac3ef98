#include "figure/layout/typesetter.h"

#include <pango/pangocairo.h>

#include <numbers>

#include "figure/layout/fonts.h"
#include "figure/layout/memory.h"

namespace attn::figure {

namespace {

// Names a Chinese font, so that glyphs do not depend on the locale; pango searches all fonts for what neither has.
constexpr const char* kFamilies = "Noto Sans,Noto Sans CJK SC,sans-serif";

// Turns off hinting: widths must be the same at every resolution.
void prepare(PangoContext* context) {
  cairo_font_options_t* options = cairo_font_options_create();
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  pango_cairo_context_set_font_options(context, options);
  cairo_font_options_destroy(options);
  pango_context_set_round_glyph_positions(context, FALSE);
  pango_context_set_language(context, pango_language_from_string("en"));
}

int byte_count(std::string_view text) { return static_cast<int>(text.size()); }

PangoContext* context_of(cairo_t* canvas) {
  require_memory_for_fonts();
  use_shipped_fonts();
  return canvas == nullptr ? pango_font_map_create_context(pango_cairo_font_map_get_default())
                           : pango_cairo_create_context(canvas);
}

double points(int units) { return static_cast<double>(units) / PANGO_SCALE; }

struct Unref {
  void operator()(void* object) const noexcept { g_object_unref(object); }
};
struct Free {
  void operator()(PangoFontDescription* font) const noexcept { pango_font_description_free(font); }
  void operator()(PangoLayoutIter* iterator) const noexcept { pango_layout_iter_free(iterator); }
};

}  // namespace

struct Typesetter::Fonts {
  explicit Fonts(cairo_t* canvas) : context(context_of(canvas)), font(pango_font_description_from_string(kFamilies)) {
    prepare(context.get());
    layout.reset(pango_layout_new(context.get()));
  }

  // The layout of this text on one line.
  [[nodiscard]] PangoLayout* set(std::string_view text, const Typeface& type) const {
    pango_font_description_set_absolute_size(font.get(), type.size * PANGO_SCALE);
    pango_font_description_set_weight(font.get(), type.bold ? PANGO_WEIGHT_SEMIBOLD : PANGO_WEIGHT_NORMAL);
    pango_layout_set_width(layout.get(), -1);
    pango_layout_set_font_description(layout.get(), font.get());
    pango_layout_set_text(layout.get(), text.data(), byte_count(text));
    return layout.get();
  }

  std::unique_ptr<PangoContext, Unref> context;
  std::unique_ptr<PangoLayout, Unref> layout;
  std::unique_ptr<PangoFontDescription, Free> font;
};

Typesetter::Typesetter() : Typesetter(nullptr) {}
Typesetter::Typesetter(cairo_t* canvas) : fonts_(std::make_unique<Fonts>(canvas)) {}
Typesetter::~Typesetter() = default;
Typesetter::Typesetter(Typesetter&&) noexcept = default;

double Typesetter::width(std::string_view text, const Typeface& type) const {
  PangoLayout* const layout = fonts_->set(text, type);
  int width = 0;
  pango_layout_get_size(layout, &width, nullptr);
  return points(width);
}

std::string Typesetter::fitted(std::string_view text, const Typeface& type, double room) const {
  if (width(text, type) <= room) return std::string(text);
  PangoLayout* const layout = fonts_->set(text, type);
  std::vector<std::size_t> ends = {0};  // byte offsets of the ends of characters, with their combining marks
  int count = 0;
  const PangoLogAttr* attributes = pango_layout_get_log_attrs_readonly(layout, &count);
  const char* at = text.data();
  for (int i = 0; i + 1 < count; ++i, at = g_utf8_next_char(at))
    if (i > 0 && attributes[i].is_cursor_position != 0) ends.push_back(static_cast<std::size_t>(at - text.data()));
  const auto cut = [&](std::size_t end) { return std::string(text.substr(0, end)) + "…"; };
  std::size_t low = 0, high = ends.size() - 1;
  while (low < high) {
    const std::size_t middle = (low + high + 1) / 2;
    if (width(cut(ends[middle]), type) <= room) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return cut(ends[low]);
}

std::vector<std::string> Typesetter::lines(std::string_view text, const Typeface& type, double room) const {
  PangoLayout* const layout = fonts_->set(text, type);
  pango_layout_set_width(layout, static_cast<int>(room * PANGO_SCALE));
  pango_layout_set_wrap(layout, PANGO_WRAP_WORD_CHAR);
  std::vector<std::string> lines;
  for (int i = 0; i < pango_layout_get_line_count(layout); ++i) {
    const PangoLayoutLine* line = pango_layout_get_line_readonly(layout, i);
    std::string_view part =
        text.substr(static_cast<std::size_t>(line->start_index), static_cast<std::size_t>(line->length));
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) lines.emplace_back(part);
  }
  return lines;
}

void Typesetter::draw(cairo_t* canvas, const Writing& writing) const {
  PangoLayout* const layout = fonts_->set(writing.text, {writing.size, writing.bold});
  cairo_save(canvas);
  cairo_translate(canvas, writing.at.x, writing.at.y);
  cairo_rotate(canvas, -writing.angle * std::numbers::pi / 180);
  pango_cairo_update_layout(canvas, layout);
  int width = 0;
  pango_layout_get_size(layout, &width, nullptr);
  const double share = writing.anchor == Anchor::start ? 0 : writing.anchor == Anchor::middle ? 0.5 : 1;
  const double baseline = points(pango_layout_get_baseline(layout));
  cairo_move_to(canvas, -share * points(width), kBaseline * writing.size - baseline);
  cairo_set_source_rgb(canvas, writing.colour.r / 255.0, writing.colour.g / 255.0, writing.colour.b / 255.0);
  pango_cairo_show_layout(canvas, layout);
  cairo_restore(canvas);
}

std::optional<char32_t> Typesetter::first_missing(std::string_view text) const {
  PangoLayout* const layout = fonts_->set(text, {});
  if (pango_layout_get_unknown_glyphs_count(layout) == 0) return std::nullopt;
  const std::unique_ptr<PangoLayoutIter, Free> at(pango_layout_get_iter(layout));
  do {
    const PangoLayoutRun* run = pango_layout_iter_get_run_readonly(at.get());
    for (int i = 0; run != nullptr && i < run->glyphs->num_glyphs; ++i)
      if (const PangoGlyph glyph = run->glyphs->glyphs[i].glyph; (glyph & PANGO_GLYPH_UNKNOWN_FLAG) != 0)
        return static_cast<char32_t>(glyph & ~PANGO_GLYPH_UNKNOWN_FLAG);
  } while (pango_layout_iter_next_run(at.get()) != FALSE);
  return std::nullopt;
}

bool Typesetter::runs_to_the_left(std::string_view text) const {
  PangoLayout* const layout = fonts_->set(text, {});
  return pango_layout_get_line_readonly(layout, 0)->resolved_dir == PANGO_DIRECTION_RTL;
}

}  // namespace attn::figure
