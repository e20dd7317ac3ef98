#include "insight/specimen.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace attn::insight {

namespace {

constexpr Kind kKinds[] = {Kind::self, Kind::decoder, Kind::cross};

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

void need(const char* what, std::int64_t value, std::int64_t count) {
  if (value >= 0 && value < count) return;
  throw std::invalid_argument("there is no " + std::string(what) + " " + std::to_string(value) + ": " + what +
                              "s count from 0 to " + std::to_string(count - 1));
}

Stack table_stack(const TableSpecimen::Tables& tables) {
  const std::int64_t count = tables.layers * tables.heads;
  if (count < 1 || tables.numbers.empty() || tables.numbers.rows() % count != 0) {
    throw std::invalid_argument("a table of weights has at least one row and one column");
  }
  return {Kind::self, tables.layers, tables.heads, tables.numbers.rows() / count, tables.numbers.columns()};
}

std::vector<text::Token> tokens_of(std::vector<std::string> names, std::int64_t count, const char* what) {
  const bool numbered = names.empty();
  if (!numbered && std::ssize(names) != count) {
    throw std::invalid_argument("there are " + std::to_string(names.size()) + " tokens for " + std::to_string(count) +
                                " " + what + " of the table");
  }
  std::vector<text::Token> tokens(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i].text = tokens[i].piece = numbered ? std::to_string(i) : std::move(names[i]);
    tokens[i].word = static_cast<std::int64_t>(i);
  }
  return tokens;
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

const Stack& Specimen::stack(Kind kind) const {
  const auto found = std::ranges::find(stacks_, kind, &Stack::kind);
  if (found != stacks_.end()) return *found;
  std::string names;
  for (const Stack& stack : stacks_) names += (names.empty() ? "" : ", ") + std::string(name_of(stack.kind));
  throw std::invalid_argument("there is no attention of kind '" + std::string(name_of(kind)) + "', only: " + names);
}

void Specimen::check(const HeadName& head) const {
  const Stack& all = stack(head.kind);
  need("layer", head.layer, all.layers);
  need("head", head.head, all.heads);
}

std::vector<HeadName> Specimen::heads() const {
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

TableSpecimen::TableSpecimen(Tables tables, std::vector<std::string> queries, std::vector<std::string> keys)
    : Specimen({table_stack(tables)}), tables_(std::move(tables)) {
  const Stack& all = stacks().front();
  if (keys.empty() && all.queries == all.keys) keys = queries;
  queries_ = tokens_of(std::move(queries), all.queries, "rows");
  keys_ = tokens_of(std::move(keys), all.keys, "columns");
  for (std::int64_t t = 0; t < all.layers * all.heads; ++t) {
    causal_.push_back(is_lower_triangle(tables_.numbers.row(t * all.queries), all.queries, all.keys));
  }
}

const std::vector<text::Token>& TableSpecimen::queries(Kind) const noexcept { return queries_; }
const std::vector<text::Token>& TableSpecimen::keys(Kind) const noexcept { return keys_; }

void TableSpecimen::weights(const HeadName& head, Rectangle window, View<float, 2> out, ThreadPool&) const {
  const std::int64_t first = (head.layer * tables_.heads + head.head) * stacks().front().queries + window.row;
  for (std::int64_t r = 0; r < out.shape[0]; ++r) {
    std::memcpy(out.at(r), tables_.numbers.row(first + r) + window.col,
                static_cast<std::size_t>(out.shape[1]) * sizeof(float));
  }
}

bool TableSpecimen::causal(const HeadName& head) const {
  return causal_[static_cast<std::size_t>(head.layer * tables_.heads + head.head)];
}

}  // namespace attn::insight
