#include <cairo-pdf.h>
#include <cairo.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "figure/draw/draw.h"
#include "figure/draw/png.h"
#include "figure/layout/typesetter.h"

namespace attn::figure {

namespace {

struct Destroy {
  void operator()(cairo_surface_t* surface) const noexcept { cairo_surface_destroy(surface); }
  void operator()(cairo_t* canvas) const noexcept { cairo_destroy(canvas); }
};
using Surface = std::unique_ptr<cairo_surface_t, Destroy>;
using CairoContext = std::unique_ptr<cairo_t, Destroy>;

void must(cairo_status_t status) {
  if (status == CAIRO_STATUS_NO_MEMORY) throw std::bad_alloc();
  if (status != CAIRO_STATUS_SUCCESS)
    throw std::runtime_error(std::string("cannot draw the picture: ") + cairo_status_to_string(status));
}

void use(cairo_t* canvas, const Colour& colour, double opacity = 1) {
  cairo_set_source_rgba(canvas, colour.r / 255.0, colour.g / 255.0, colour.b / 255.0, opacity);
}

class Painter {
 public:
  // `dots`: pixels per point of a raster picture; 0 for vector formats.
  Painter(cairo_t* canvas, double dots) : canvas_(canvas), dots_(dots), typesetter_(canvas) {}

  void operator()(const Tiles& tiles) const {
    const auto columns = static_cast<int>(tiles.columns), rows = static_cast<int>(tiles.rows);
    const Surface cells(cairo_image_surface_create(CAIRO_FORMAT_RGB24, columns, rows));
    must(cairo_surface_status(cells.get()));
    const int stride = cairo_image_surface_get_stride(cells.get()) / 4;
    auto* pixels = reinterpret_cast<std::uint32_t*>(cairo_image_surface_get_data(cells.get()));
    for (std::int64_t y = 0; y < rows; ++y) {
      for (std::int64_t x = 0; x < columns; ++x) {
        const Colour& colour = tiles.palette[tiles.steps[static_cast<std::size_t>(y * columns + x)]];
        pixels[y * stride + x] = std::uint32_t{colour.r} << 16 | std::uint32_t{colour.g} << 8 | colour.b;
      }
    }
    cairo_surface_mark_dirty(cells.get());
    cairo_save(canvas_);
    cairo_translate(canvas_, tiles.box.x, tiles.box.y);
    cairo_scale(canvas_, tiles.box.width / columns, tiles.box.height / rows);
    cairo_set_source_surface(canvas_, cells.get(), 0, 0);
    cairo_pattern_set_filter(cairo_get_source(canvas_), CAIRO_FILTER_NEAREST);
    cairo_pattern_set_extend(cairo_get_source(canvas_), CAIRO_EXTEND_PAD);
    cairo_rectangle(canvas_, 0, 0, columns, rows);
    cairo_fill(canvas_);
    cairo_restore(canvas_);
  }

  void operator()(const Area& area) const {
    trace(area.outline);
    use(canvas_, area.colour);
    cairo_fill(canvas_);
  }

  void operator()(const Stroke& stroke) const {
    if (dots_ > 0 && stroke.points.size() == 2 && stroke.dash == 0 && crisp(stroke)) return;
    trace(stroke.points);
    use(canvas_, stroke.colour, stroke.opacity);
    cairo_set_line_width(canvas_, stroke.width);
    cairo_set_line_join(canvas_, CAIRO_LINE_JOIN_ROUND);
    std::vector<double> dashes = dashes_of(stroke.dash);
    for (double& dash : dashes) dash *= stroke.width;
    cairo_set_dash(canvas_, dashes.data(), static_cast<int>(dashes.size()), 0);
    cairo_stroke(canvas_);
  }

  void operator()(const Writing& writing) const { typesetter_.draw(canvas_, writing); }

 private:
  void trace(const std::vector<Point>& points) const {
    cairo_new_path(canvas_);  // text leaves a current point
    for (const Point& point : points) cairo_line_to(canvas_, point.x, point.y);
  }

  // Snaps an axis-parallel line to whole pixels: drawn between them it would be twice as wide and grey. False: it is
  // not axis-parallel, and nothing is drawn.
  [[nodiscard]] bool crisp(const Stroke& stroke) const {
    const Point &a = stroke.points[0], &b = stroke.points[1];
    const bool upright = a.x == b.x;
    if (!upright && a.y != b.y) return false;
    const double wide = std::max(1.0, std::round(stroke.width * dots_)) / dots_;
    const auto on_dot = [&](double middle) { return std::round((middle - wide / 2) * dots_) / dots_; };
    const auto edge = [&](double at) { return std::round(at * dots_) / dots_; };
    use(canvas_, stroke.colour, stroke.opacity);
    if (upright) {
      const double from = edge(std::min(a.y, b.y)), to = edge(std::max(a.y, b.y));
      cairo_rectangle(canvas_, on_dot(a.x), from, wide, to - from);
    } else {
      const double from = edge(std::min(a.x, b.x)), to = edge(std::max(a.x, b.x));
      cairo_rectangle(canvas_, from, on_dot(a.y), to - from, wide);
    }
    cairo_fill(canvas_);
    return true;
  }

  cairo_t* canvas_;
  double dots_;
  Typesetter typesetter_;
};

void paint(const Scene& scene, cairo_t* canvas, double dots) {
  const Painter painter(canvas, dots);
  for (const Mark& mark : scene.marks) std::visit(painter, mark);
  must(cairo_status(canvas));
}

}  // namespace

std::string draw_png(const Scene& scene, double dpi) {
  constexpr double kMost = 32767;  // limit of a cairo surface
  const double dots = dpi / 72;
  const double width = std::round(scene.width * dots), height = std::round(scene.height * dots);
  if (width > kMost || height > kMost)
    throw std::invalid_argument(
        "the picture would have " + std::to_string(std::llround(width)) + " x " + std::to_string(std::llround(height)) +
        " pixels; the limit for PNG is 32767 in each direction: draw fewer cells or lower the dpi");
  const Surface surface(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(width), static_cast<int>(height)));
  must(cairo_surface_status(surface.get()));
  {
    const CairoContext canvas(cairo_create(surface.get()));
    use(canvas.get(), {255, 255, 255});
    cairo_paint(canvas.get());
    cairo_scale(canvas.get(), dots, dots);
    paint(scene, canvas.get(), dots);
  }
  cairo_surface_flush(surface.get());
  const unsigned char* pixels = cairo_image_surface_get_data(surface.get());
  const auto stride = static_cast<std::size_t>(cairo_image_surface_get_stride(surface.get()));
  const auto columns = static_cast<std::size_t>(width);
  return rgb_png({static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height), dpi,
                  [&](std::uint32_t y, std::uint8_t* rgb) {
                    const auto* row = reinterpret_cast<const std::uint32_t*>(pixels + y * stride);
                    for (std::size_t x = 0; x < columns; ++x) {
                      rgb[3 * x] = static_cast<std::uint8_t>(row[x] >> 16);
                      rgb[3 * x + 1] = static_cast<std::uint8_t>(row[x] >> 8);
                      rgb[3 * x + 2] = static_cast<std::uint8_t>(row[x]);
                    }
                  }});
}

std::string draw_pdf(const Scene& scene) {
  constexpr double kMost = 14400;  // limit of a PDF page, in points
  if (scene.width > kMost || scene.height > kMost)
    throw std::invalid_argument("the picture would be " + std::to_string(std::llround(scene.width / 72)) + " x " +
                                std::to_string(std::llround(scene.height / 72)) +
                                " inches; the limit for a PDF page is 200 in each direction");
  std::string bytes;
  const auto append = [](void* to, const unsigned char* data, unsigned int size) {
    static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(data), size);
    return CAIRO_STATUS_SUCCESS;
  };
  const Surface surface(cairo_pdf_surface_create_for_stream(append, &bytes, scene.width, scene.height));
  must(cairo_surface_status(surface.get()));
  // A fixed date, so that the same figure gives the same bytes.
  cairo_pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_CREATE_DATE, "2000-01-01T00:00:00Z");
  if (!scene.title.empty())
    cairo_pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_TITLE, scene.title.c_str());
  {
    const CairoContext canvas(cairo_create(surface.get()));
    paint(scene, canvas.get(), 0);
  }
  cairo_surface_finish(surface.get());
  must(cairo_surface_status(surface.get()));
  return bytes;
}

}  // namespace attn::figure
