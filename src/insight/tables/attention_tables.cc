#include "insight/tables/attention_tables.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "engine/runtime/copy_bytes.h"

namespace attn::insight {

namespace {

constexpr Kind kKinds[] = {Kind::self, Kind::decoder, Kind::cross};

AttentionStack table_stack(const InMemoryTables::Part& part) {
  const InMemoryTables::Tables& tables = part.tables;
  const std::int64_t count = tables.layers * tables.heads;
  if (count < 1 || tables.numbers.empty() || tables.numbers.rows() % count != 0) {
    throw std::invalid_argument("a table of weights has at least one row and one column");
  }
  return {part.kind, tables.layers, tables.heads, tables.numbers.rows() / count, tables.numbers.columns()};
}

std::vector<AttentionStack> table_stacks(std::vector<InMemoryTables::Part>& parts) {
  if (parts.empty()) throw std::invalid_argument("there is no table of weights to look at");
  std::ranges::stable_sort(parts, {}, &InMemoryTables::Part::kind);
  std::vector<AttentionStack> stacks;
  for (const InMemoryTables::Part& part : parts) {
    if (!stacks.empty() && stacks.back().kind == part.kind)
      throw std::invalid_argument("tables of kind '" + std::string(name_of(part.kind)) + "' are given twice");
    stacks.push_back(table_stack(part));
  }
  return stacks;
}

// Names unnamed tokens by number.
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

// The argument of the delegating constructor.
std::vector<InMemoryTables::Part> one_part(InMemoryTables::Tables tables, std::vector<std::string> queries,
                                           std::vector<std::string> keys) {
  std::vector<InMemoryTables::Part> parts;
  parts.push_back({Kind::self, std::move(tables), named_tokens(std::move(queries)), named_tokens(std::move(keys))});
  return parts;
}

// Whether a table [N, M] has no weight above its diagonal.
bool is_lower_triangle(const float* table, std::int64_t n, std::int64_t m) {
  if (n != m || n < 2) return false;
  for (std::int64_t i = 0; i < n; ++i) {
    if (std::any_of(table + i * m + i + 1, table + (i + 1) * m, [](float p) { return p != 0; })) return false;
  }
  return true;
}

}  // namespace

std::string to_string(const HeadId& head) {
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

std::vector<AttentionStack> stacks_of(const model::AttentionLog& log) {
  std::vector<AttentionStack> stacks;
  for (const Kind kind : kKinds) {
    if (!log.has(kind)) continue;
    const auto [queries, keys] = log.size(kind);
    stacks.push_back({kind, log.layers(kind), log.attention(kind, 0).shape.heads, queries, keys});
  }
  if (stacks.empty()) throw std::invalid_argument("nothing was recorded: there is no attention to look at");
  return stacks;
}

const AttentionStack& AttentionLayout::stack(Kind kind) const {
  const auto found = std::ranges::find(stacks_, kind, &AttentionStack::kind);
  if (found != stacks_.end()) return *found;
  std::string names;
  for (const AttentionStack& stack : stacks_) names += (names.empty() ? "" : ", ") + std::string(name_of(stack.kind));
  throw std::invalid_argument("there is no attention of kind '" + std::string(name_of(kind)) + "', only: " + names);
}

void AttentionLayout::check(const HeadId& head) const {
  const AttentionStack& all = stack(head.kind);
  need_index("layer", head.layer, all.layers);
  need_index("head", head.head, all.heads);
}

std::vector<HeadId> AttentionLayout::heads() const {
  std::vector<HeadId> heads;
  for (const AttentionStack& stack : stacks_) {
    for (std::int64_t layer = 0; layer < stack.layers; ++layer)
      for (std::int64_t head = 0; head < stack.heads; ++head) heads.push_back({stack.kind, layer, head});
  }
  return heads;
}

nn::Matrix AttentionTables::weights(const HeadId& head, ThreadPool& pool) const {
  check(head);
  const AttentionStack& all = stack(head.kind);
  nn::Matrix table(all.queries, all.keys);
  weights(head, {}, table.view(), pool);
  return table;
}

Cover AttentionTables::cover(const HeadId&, const Tile&) const { return Cover::some; }

RecordedTables::RecordedTables(model::Recording recording)
    : AttentionTables(stacks_of(recording.log)), recording_(std::move(recording)) {}

const std::vector<text::Token>& RecordedTables::queries(Kind kind) const noexcept { return recording_.queries(kind); }
const std::vector<text::Token>& RecordedTables::keys(Kind kind) const noexcept { return recording_.keys(kind); }

void RecordedTables::weights(const HeadId& head, Rectangle window, View<float, 2> out, ThreadPool& pool) const {
  recording_.log.weights({head.kind, head.layer, head.head, 0}, window, out, pool);
}

Cover RecordedTables::cover(const HeadId& head, const Tile& tile) const {
  return recording_.log.attention(head.kind, head.layer).rule.mask().cover(tile);
}

bool RecordedTables::causal(const HeadId& head) const {
  return recording_.log.attention(head.kind, head.layer).rule.causal;
}

std::vector<text::Token> named_tokens(std::vector<std::string> names) {
  std::vector<text::Token> tokens(names.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i].text = tokens[i].piece = std::move(names[i]);
    tokens[i].word = static_cast<std::int64_t>(i);
  }
  return tokens;
}

InMemoryTables::InMemoryTables(Tables tables, std::vector<std::string> queries, std::vector<std::string> keys)
    : InMemoryTables(one_part(std::move(tables), std::move(queries), std::move(keys))) {}

InMemoryTables::InMemoryTables(std::vector<Part> parts)
    : AttentionTables(table_stacks(parts)), parts_(std::move(parts)) {
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const AttentionStack& all = stacks()[p];
    Part& part = parts_[p];
    if (part.keys.empty() && all.queries == all.keys) part.keys = part.queries;
    name_all(part.queries, all.queries, "rows");
    name_all(part.keys, all.keys, "columns");
    std::vector<bool>& causal = causal_.emplace_back();
    for (std::int64_t t = 0; t < all.layers * all.heads; ++t)
      causal.push_back(is_lower_triangle(part.tables.numbers.row(t * all.queries), all.queries, all.keys));
  }
}

const InMemoryTables::Part& InMemoryTables::part(Kind kind) const noexcept {
  const auto found = std::ranges::find(parts_, kind, &Part::kind);
  return found == parts_.end() ? parts_.front() : *found;
}

const std::vector<text::Token>& InMemoryTables::queries(Kind kind) const noexcept { return part(kind).queries; }
const std::vector<text::Token>& InMemoryTables::keys(Kind kind) const noexcept { return part(kind).keys; }

void InMemoryTables::weights(const HeadId& head, Rectangle window, View<float, 2> out, ThreadPool&) const {
  const Tables& tables = part(head.kind).tables;
  const std::int64_t queries = tables.numbers.rows() / (tables.layers * tables.heads);
  const std::int64_t first = (head.layer * tables.heads + head.head) * queries + window.row;
  for (std::int64_t r = 0; r < out.shape[0]; ++r) {
    copy_bytes(out.at(r), tables.numbers.row(first + r) + window.col,
               static_cast<std::size_t>(out.shape[1]) * sizeof(float));
  }
}

bool InMemoryTables::causal(const HeadId& head) const {
  const Part& tables = part(head.kind);
  return causal_[static_cast<std::size_t>(&tables - parts_.data())]
                [static_cast<std::size_t>(head.layer * tables.tables.heads + head.head)];
}

}  // namespace attn::insight
