#include "python/scope/figures.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/new_file.h"
#include "figure/scene/attention_figures.h"
#include "figure/terminal/terminal.h"
#include "python/scope/names.h"
#include "python/scope/recordings.h"
#include "python/scope/work.h"

namespace attn::python {
namespace {

using namespace nb::literals;
using insight::HeadId;

// ---- options ----

// The value of an option; none: keep the figure's default.
template <typename T>
std::optional<T> given(const nb::dict& options, const char* name) {
  if (!options.contains(name) || options[name].is_none()) return std::nullopt;
  return nb::cast<T>(options[name]);
}

figure::Scale parse_scale(const std::string& name) {
  if (const auto scale = figure::parse_scale(name)) return *scale;
  throw std::invalid_argument("there is no scale '" + name + "'; choose linear, sqrt or log");
}

insight::Reduce parse_reduce(const std::string& name) {
  for (const auto reduce : {insight::Reduce::max, insight::Reduce::mean})
    if (name == figure::name_of(reduce)) return reduce;
  throw std::invalid_argument("reduce must be max or mean, not '" + name + "'");
}

// Overrides the figure's defaults with the options that were passed.
template <typename F>
void dress(F& figure, const nb::dict& options) {
  const auto set = [&](std::string& text, const char* name) {
    text = given<std::string>(options, name).value_or(text);
  };
  set(figure.title, "title");
  if constexpr (requires { figure.shade; }) {
    set(figure.shade.cmap, "cmap");
    if (const auto scale = given<std::string>(options, "scale")) figure.shade.scale = parse_scale(*scale);
    if (const auto range = given<std::pair<double, double>>(options, "range"))
      figure.shade.range = figure::Range{range->first, range->second};
  }
  if constexpr (requires { figure.values; }) figure.values = given<bool>(options, "values").value_or(false);
  if constexpr (requires { figure.bar_label; }) set(figure.bar_label, "bar_label");
  if constexpr (requires { figure.x_label; }) set(figure.x_label, "xlabel");
  if constexpr (requires { figure.y_label; }) set(figure.y_label, "ylabel");
  if constexpr (requires { figure.threshold; }) {
    figure.threshold = given<double>(options, "threshold").value_or(figure.threshold);
    if (!(figure.threshold >= 0 && figure.threshold <= 1))
      throw std::invalid_argument("threshold must be between 0 and 1");
  }
  if constexpr (requires { figure.columns = std::int64_t{}; })
    figure.columns = given<std::int64_t>(options, "columns").value_or(figure.columns);
}

std::vector<HeadId> heads_of(const insight::AttentionTables& tables, const nb::dict& options) {
  const insight::Kind kind = parse_kind(nb::cast<std::string>(options["attention"]));
  const std::int64_t layer = nb::cast<std::int64_t>(options["layer"]);
  std::vector<HeadId> heads;
  for (const std::int64_t head : nb::cast<std::vector<std::int64_t>>(options["heads"])) {
    heads.push_back({kind, layer, head});
    tables.check(heads.back());
  }
  if (heads.empty()) throw std::invalid_argument("heads is empty: there is nothing to draw");
  return heads;
}

// ---- the kinds ----

struct Task {
  const Recording& recording;
  const nb::dict& options;

  [[nodiscard]] figure::FigureTables drawn() const { return {*recording.tables, recording.name, recording.view}; }
  [[nodiscard]] std::vector<insight::Picture> pictures(const std::vector<HeadId>& heads, std::int64_t most) const {
    const auto reduce = parse_reduce(given<std::string>(options, "reduce").value_or("max"));
    return unlocked([&](ThreadPool& pool) {
      return figure::pictures_of(*recording.tables, heads,
                                 {.most = most, .reduce = reduce, .progress = until_interrupted()}, pool);
    });
  }
  template <typename F>
  Drawing dressed(F figure) const {
    dress(figure, options);
    return {std::move(figure)};
  }
};

Drawing heatmap(const Recording& recording, const nb::dict& options) {
  const Task task{recording, options};
  const std::vector<HeadId> heads = heads_of(*recording.tables, options);
  std::vector<insight::Picture> pictures = task.pictures({heads.front()}, figure::kHeatmapCells);
  return task.dressed(figure::heatmap_of(task.drawn(), heads.front(), std::move(pictures.front())));
}

Drawing heads(const Recording& recording, const nb::dict& options) {
  const Task task{recording, options};
  const std::vector<HeadId> names = heads_of(*recording.tables, options);
  return task.dressed(figure::grid_of(task.drawn(), names, task.pictures(names, figure::kGridCells)));
}

Drawing headview(const Recording& recording, const nb::dict& options) {
  const Task task{recording, options};
  const std::vector<HeadId> names = heads_of(*recording.tables, options);
  figure::check_lines(*recording.tables, names.front().kind);
  return task.dressed(figure::head_view_of(task.drawn(), names, task.pictures(names, figure::kHeadViewTokens)));
}

Drawing overview(const Recording& recording, const nb::dict& options) {
  const Task task{recording, options};
  const insight::Kind kind = parse_kind(nb::cast<std::string>(options["attention"]));
  static_cast<void>(recording.tables->stack(kind));
  std::vector<HeadId> names = recording.tables->heads();
  std::erase_if(names, [&](const HeadId& name) { return name.kind != kind; });
  return task.dressed(figure::overview_of(task.drawn(), kind, task.pictures(names, figure::kOverviewCells)));
}

// ---- output ----

nb::bytes draw(const Drawing& drawing, const std::string& format, double dpi) {
  const std::string bytes = unlocked([&](ThreadPool& /*pool*/) {
    return figure::draw(drawing.figure, figure::Output{figure::format_of("figure." + format), dpi});
  });
  return nb::bytes(bytes.data(), bytes.size());
}

void save_drawing(const Drawing& drawing, const std::string& file, double dpi) {
  unlocked([&](ThreadPool& /*pool*/) {
    base::write_file(file, figure::draw(drawing.figure, figure::Output{figure::format_of(file), dpi}));
  });
}

// Draws for a terminal of `width` columns; 0: for standard output, with its colours.
nb::str as_text(const Drawing& drawing, int width) {
  const figure::Screen screen = width > 0 ? figure::Screen{.width = width} : figure::Terminal::of_stdout().screen();
  return text_of(unlocked([&](ThreadPool& /*pool*/) { return figure::draw(drawing.figure, screen); }));
}

nb::str title_of(const Drawing& drawing) {
  return text_of(std::visit([](const auto& figure) { return figure.title; }, drawing.figure));
}

}  // namespace

void bind_figures(nb::module_& m) {
  nb::class_<Drawing>(m, "Drawing")
      .def("draw", &draw)
      .def("save", &save_drawing)
      .def("text", &as_text)
      .def("title", &title_of);
  m.def("heatmap", &heatmap);
  m.def("heads", &heads);
  m.def("headview", &headview);
  m.def("overview", &overview);
}

}  // namespace attn::python
