#include "course/compute/model_look.h"

#include <algorithm>

#include "builtin/models.h"
#include "course/compute/lesson_parts.h"

namespace attn::course {

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

LessonArray table_of(const insight::AttentionTables& tables, const insight::HeadId& head, ThreadPool& pool) {
  return LessonArray::of(tables.weights(head, pool))
      .named(names_of(tables.queries(head.kind)), names_of(tables.keys(head.kind)));
}

LessonArray layer_tables(const insight::AttentionTables& tables, insight::Kind kind, std::int64_t layer,
                         ThreadPool& pool) {
  const insight::AttentionStack& stack = tables.stack(kind);
  LessonArray out;
  for (std::int64_t head = 0; head < stack.heads; ++head) {
    const LessonArray table = table_of(tables, {kind, layer, head}, pool);
    out.numbers.insert(out.numbers.end(), table.numbers.begin(), table.numbers.end());
    out.rows = table.rows;
    out.columns = table.columns;
  }
  out.shape = {stack.heads, stack.queries, stack.keys};
  return out;
}

LessonArray all_tables(const insight::AttentionTables& tables, insight::Kind kind, ThreadPool& pool) {
  const insight::AttentionStack& stack = tables.stack(kind);
  LessonArray out;
  for (std::int64_t layer = 0; layer < stack.layers; ++layer) {
    const LessonArray arrays = layer_tables(tables, kind, layer, pool);
    out.numbers.insert(out.numbers.end(), arrays.numbers.begin(), arrays.numbers.end());
    out.rows = arrays.rows;
    out.columns = arrays.columns;
  }
  out.shape = {stack.layers, stack.heads, stack.queries, stack.keys};
  return out;
}

figure::Grid blue_grid(const LessonArray& arrays, std::string title) {
  constexpr std::int64_t kOneRow = 4;  // more heads are laid out in several rows
  figure::Grid grid{.panels = {},
                    .columns = arrays.shape.at(0) <= kOneRow ? arrays.shape.at(0) : 0,
                    .title = std::move(title),
                    .caption = {},
                    .shade = {.cmap = "Blues", .range = figure::Range{0, 1}}};
  for (std::int64_t head = 0; head < arrays.shape.at(0); ++head)
    grid.panels.push_back(heatmap_of(slice(arrays, head), "head " + std::to_string(head)));
  return grid;
}

figure::HeadView lines_of(const LessonArray& arrays, std::string title) {
  figure::HeadView lines{
      .queries = arrays.rows, .keys = arrays.columns, .heads = {}, .title = std::move(title), .caption = {}};
  for (std::int64_t head = 0; head < arrays.shape.at(0); ++head)
    lines.heads.push_back({"head " + std::to_string(head), slice(arrays, head).matrix()});
  return lines;
}

LessonArray hidden_of(const nn::Matrix& hidden, const std::vector<text::Token>& tokens) {
  return LessonArray::of(hidden).named(names_of(tokens), {});
}

}  // namespace attn::course
