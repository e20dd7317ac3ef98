#include "course/compute/model_look.h"

#include <algorithm>

#include "builtin/models.h"
#include "course/compute/lesson_parts.h"

namespace attn::lesson {

model::Reader open_model(const std::string& name) { return model::Reader::load(builtin::folder_of(name)); }

std::string short_name(const model::Reader& reader) {
  return model::Origin{.model = reader.name, .type = {}, .form = {}, .text = {}}.short_name();
}

std::vector<std::string> names_of(const std::vector<text::Token>& tokens) {
  std::vector<std::string> names;
  for (const text::Token& token : tokens) names.push_back(token.text);
  return names;
}

std::string joined(const std::vector<std::string>& words, const std::string& between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

Array table_of(const insight::Specimen& specimen, const insight::HeadName& head, ThreadPool& pool) {
  return Array::of(specimen.weights(head, pool))
      .named(names_of(specimen.queries(head.kind)), names_of(specimen.keys(head.kind)));
}

Array layer_tables(const insight::Specimen& specimen, insight::Kind kind, std::int64_t layer, ThreadPool& pool) {
  const insight::Stack& stack = specimen.stack(kind);
  Array out;
  for (std::int64_t head = 0; head < stack.heads; ++head) {
    const Array table = table_of(specimen, {kind, layer, head}, pool);
    out.numbers.insert(out.numbers.end(), table.numbers.begin(), table.numbers.end());
    out.rows = table.rows;
    out.columns = table.columns;
  }
  out.shape = {stack.heads, stack.queries, stack.keys};
  return out;
}

Array all_tables(const insight::Specimen& specimen, insight::Kind kind, ThreadPool& pool) {
  const insight::Stack& stack = specimen.stack(kind);
  Array out;
  for (std::int64_t layer = 0; layer < stack.layers; ++layer) {
    const Array tables = layer_tables(specimen, kind, layer, pool);
    out.numbers.insert(out.numbers.end(), tables.numbers.begin(), tables.numbers.end());
    out.rows = tables.rows;
    out.columns = tables.columns;
  }
  out.shape = {stack.layers, stack.heads, stack.queries, stack.keys};
  return out;
}

figure::Grid blue_grid(const Array& tables, std::string title) {
  constexpr std::int64_t kOneRow = 4;  // more heads than that stand in several rows
  figure::Grid grid{.panels = {},
                    .columns = tables.shape.at(0) <= kOneRow ? tables.shape.at(0) : 0,
                    .title = std::move(title),
                    .caption = {},
                    .shade = {.cmap = "Blues", .range = figure::Range{0, 1}}};
  for (std::int64_t head = 0; head < tables.shape.at(0); ++head)
    grid.panels.push_back(heatmap_of(slice(tables, head), "head " + std::to_string(head)));
  return grid;
}

figure::HeadView lines_of(const Array& tables, std::string title) {
  figure::HeadView lines{
      .queries = tables.rows, .keys = tables.columns, .heads = {}, .title = std::move(title), .caption = {}};
  for (std::int64_t head = 0; head < tables.shape.at(0); ++head)
    lines.heads.push_back({"head " + std::to_string(head), slice(tables, head).matrix()});
  return lines;
}

Array hidden_of(const nn::Matrix& hidden, const std::vector<text::Token>& tokens) {
  return Array::of(hidden).named(names_of(tokens), {});
}

}  // namespace attn::lesson
