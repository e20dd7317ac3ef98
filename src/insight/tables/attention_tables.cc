#include "insight/tables/attention_tables.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace attn::insight {

namespace {

constexpr Kind kKinds[] = {Kind::self, Kind::decoder, Kind::cross};

Stack table_stack(const TableSpecimen::Part& part) {
  const TableSpecimen::Tables& tables = part.tables;
  const std::int64_t count = tables.layers * tables.heads;
  if (count < 1 || tables.numbers.empty() || tables.numbers.rows() % count != 0) {
    throw std::invalid_argument("a table of weights has at least one row and one column");
  }
  return {part.kind, tables.layers, tables.heads, tables.numbers.rows() / count, tables.numbers.columns()};
}

std::vector<Stack> table_stacks(std::vector<TableSpecimen::Part>& parts) {
  if (parts.empty()) throw std::invalid_argument("there is no table of weights to look at");
  std::ranges::stable_sort(parts, {}, &TableSpecimen::Part::kind);
  std::vector<Stack> stacks;
  for (const TableSpecimen::Part& part : parts) {
    if (!stacks.empty() && stacks.back().kind == part.kind)
      throw std::invalid_argument("tables of kind '" + std::string(name_of(part.kind)) + "' are given twice");
    stacks.push_back(table_stack(part));
  }
  return stacks;
}

// Numbers where there are no names.
void name_all(std::vector<text::Token>& tokens, std::int64_t count, const char* what) {
  if (!tokens.empty() && std::ssize(tokens) != count) {
    throw std::invalid_argument("there are " + std::to_string(tokens.size()) + " tokens for " + std::to_string(count) +
                                " " + what + " of the table");
  }
  if (!tokens.empty()) return;
  std::vector<std::string> names(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = std::to_string(i);
  tokens = named_tokens(std::move(names));
}

// What a constructor hands to another.
std::vector<TableSpecimen::Part> one_part(TableSpecimen::Tables tables, std::vector<std::string> queries,
                                          std::vector<std::string> keys) {
  std::vector<TableSpecimen::Part> parts;
  parts.push_back({Kind::self, std::move(tables), named_tokens(std::move(queries)), named_tokens(std::move(keys))});
  return parts;
}

// [N, M] without a weight above its diagonal.
bool is_lower_triangle(const float* table, std::int64_t n, std::int64_t m) {
  if (n != m || n < 2) return false;
  for (std::int64_t i = 0; i < n; ++i) {
    if (std::any_of(table + i * m + i + 1, table + (i + 1) * m, [](float p) { return p != 0; })) return false;
  }
  return true;
}

}  // namespace

std::string to_string(const HeadName& head) {
  const std::string kind = head.kind == Kind::self ? "" : std::string(name_of(head.kind)) + " ";
  return kind + "layer " + std::to_string(head.layer) + ", head " + std::to_string(head.head);
}

std::string_view name_of(Numbers numbers) noexcept {
  switch (numbers) {
    case Numbers::weights:
      return "weights";
    case Numbers::norms:
      return "weights times norms";
    case Numbers::differences:
      return "differences of weights";
  }
  return "";
}

void need_index(const char* what, std::int64_t value, std::int64_t count) {
  if (value >= 0 && value < count) return;
  throw std::invalid_argument("there is no " + std::string(what) + " " + std::to_string(value) + ": " + what +
                              "s count from 0 to " + std::to_string(count - 1));
}

std::vector<Stack> stacks_of(const model::Recording& recording) {
  std::vector<Stack> stacks;
  for (const Kind kind : kKinds) {
    if (!recording.has(kind)) continue;
    const auto [queries, keys] = recording.size(kind);
    stacks.push_back({kind, recording.layers(kind), recording.attention(kind, 0).shape.heads, queries, keys});
  }
  if (stacks.empty()) throw std::invalid_argument("nothing was recorded: there is no attention to look at");
  return stacks;
}

const Stack& Subject::stack(Kind kind) const {
  const auto found = std::ranges::find(stacks_, kind, &Stack::kind);
  if (found != stacks_.end()) return *found;
  std::string names;
  for (const Stack& stack : stacks_) names += (names.empty() ? "" : ", ") + std::string(name_of(stack.kind));
  throw std::invalid_argument("there is no attention of kind '" + std::string(name_of(kind)) + "', only: " + names);
}

void Subject::check(const HeadName& head) const {
  const Stack& all = stack(head.kind);
  need_index("layer", head.layer, all.layers);
  need_index("head", head.head, all.heads);
}

std::vector<HeadName> Subject::heads() const {
  std::vector<HeadName> heads;
  for (const Stack& stack : stacks_) {
    for (std::int64_t layer = 0; layer < stack.layers; ++layer)
      for (std::int64_t head = 0; head < stack.heads; ++head) heads.push_back({stack.kind, layer, head});
  }
  return heads;
}

nn::Matrix Specimen::weights(const HeadName& head, ThreadPool& pool) const {
  check(head);
  const Stack& all = stack(head.kind);
  nn::Matrix table(all.queries, all.keys);
  weights(head, {}, table.view(), pool);
  return table;
}

Cover Specimen::cover(const HeadName&, const Tile&) const { return Cover::some; }

RecordedSpecimen::RecordedSpecimen(model::Reading reading)
    : Specimen(stacks_of(reading.recording)), reading_(std::move(reading)) {}

const std::vector<text::Token>& RecordedSpecimen::queries(Kind kind) const noexcept { return reading_.queries(kind); }
const std::vector<text::Token>& RecordedSpecimen::keys(Kind kind) const noexcept { return reading_.keys(kind); }

void RecordedSpecimen::weights(const HeadName& head, Rectangle window, View<float, 2> out, ThreadPool& pool) const {
  reading_.recording.weights({head.kind, head.layer, head.head, 0}, window, out, pool);
}

Cover RecordedSpecimen::cover(const HeadName& head, const Tile& tile) const {
  return reading_.recording.attention(head.kind, head.layer).rule.mask().cover(tile);
}

bool RecordedSpecimen::causal(const HeadName& head) const {
  return reading_.recording.attention(head.kind, head.layer).rule.causal;
}

std::vector<text::Token> named_tokens(std::vector<std::string> names) {
  std::vector<text::Token> tokens(names.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i].text = tokens[i].piece = std::move(names[i]);
    tokens[i].word = static_cast<std::int64_t>(i);
  }
  return tokens;
}

TableSpecimen::TableSpecimen(Tables tables, std::vector<std::string> queries, std::vector<std::string> keys)
    : TableSpecimen(one_part(std::move(tables), std::move(queries), std::move(keys))) {}

TableSpecimen::TableSpecimen(std::vector<Part> parts) : Specimen(table_stacks(parts)), parts_(std::move(parts)) {
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const Stack& all = stacks()[p];
    Part& part = parts_[p];
    if (part.keys.empty() && all.queries == all.keys) part.keys = part.queries;
    name_all(part.queries, all.queries, "rows");
    name_all(part.keys, all.keys, "columns");
    std::vector<bool>& causal = causal_.emplace_back();
    for (std::int64_t t = 0; t < all.layers * all.heads; ++t)
      causal.push_back(is_lower_triangle(part.tables.numbers.row(t * all.queries), all.queries, all.keys));
  }
}

const TableSpecimen::Part& TableSpecimen::part(Kind kind) const noexcept {
  const auto found = std::ranges::find(parts_, kind, &Part::kind);
  return found == parts_.end() ? parts_.front() : *found;
}

const std::vector<text::Token>& TableSpecimen::queries(Kind kind) const noexcept { return part(kind).queries; }
const std::vector<text::Token>& TableSpecimen::keys(Kind kind) const noexcept { return part(kind).keys; }

void TableSpecimen::weights(const HeadName& head, Rectangle window, View<float, 2> out, ThreadPool&) const {
  const Tables& tables = part(head.kind).tables;
  const std::int64_t queries = tables.numbers.rows() / (tables.layers * tables.heads);
  const std::int64_t first = (head.layer * tables.heads + head.head) * queries + window.row;
  for (std::int64_t r = 0; r < out.shape[0]; ++r) {
    std::memcpy(out.at(r), tables.numbers.row(first + r) + window.col,
                static_cast<std::size_t>(out.shape[1]) * sizeof(float));
  }
}

bool TableSpecimen::causal(const HeadName& head) const {
  const Part& tables = part(head.kind);
  return causal_[static_cast<std::size_t>(&tables - parts_.data())]
                [static_cast<std::size_t>(head.layer * tables.tables.heads + head.head)];
}

}  // namespace attn::insight
