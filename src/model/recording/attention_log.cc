#include "model/recording/attention_log.h"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/runtime/copy_bytes.h"
#include "model/run/model.h"
#include "model/run/value_norms.h"

namespace attn::model {

namespace {

constexpr std::array<std::string_view, 3> kKindNames = {"self", "decoder", "cross"};

// Makes room for at least `rows` rows and keeps the first `used`. The first allocation is exact; later ones double, so
// that a text that grows token by token is copied only a few times.
void grow_rows(nn::Matrix& matrix, std::int64_t used, std::int64_t rows, std::int64_t columns) {
  if (rows <= matrix.rows()) return;
  nn::Matrix larger(used == 0 ? rows : std::max(rows, 2 * matrix.rows()), columns);
  if (used > 0) copy_bytes(larger.data(), matrix.data(), static_cast<std::size_t>(used * columns) * sizeof(float));
  matrix = std::move(larger);
}

void grow_columns(nn::Matrix& matrix, std::int64_t used, std::int64_t columns, std::int64_t rows) {
  if (columns <= matrix.columns()) return;
  nn::Matrix larger(rows, used == 0 ? columns : std::max(columns, 2 * matrix.columns()));
  for (std::int64_t r = 0; r < rows && used > 0; ++r) {
    copy_bytes(larger.row(r), matrix.row(r), static_cast<std::size_t>(used) * sizeof(float));
  }
  matrix = std::move(larger);
}

void need_index(std::string_view what, std::int64_t value, std::int64_t count) {
  if (value >= 0 && value < count) return;
  const std::string text(what);
  throw std::invalid_argument("there is no " + text + " " + std::to_string(value) + ": " + text + "s count from 0 to " +
                              std::to_string(count - 1));
}

void need_size(const char* what, const nn::Matrix& found, Shape<2> least, Shape<2> most) {
  const Shape<2> size{found.rows(), found.columns()};
  if (size[0] >= least[0] && size[0] <= most[0] && size[1] >= least[1] && size[1] <= most[1]) return;
  const auto text = [](const Shape<2>& shape) {
    return "[" + std::to_string(shape[0]) + ", " + std::to_string(shape[1]) + "]";
  };
  throw std::invalid_argument(std::string(what) + " is " + text(size) + "; " + text(least) + " is needed");
}

void check_whole(const AttentionRecord& a, Shape<2> whole) {
  const auto [heads, key_heads, width] = a.shape;
  if (key_heads < 1 || heads < 1 || heads % key_heads != 0)
    throw std::invalid_argument(std::to_string(heads) + " query heads cannot share " + std::to_string(key_heads) +
                                " key heads");
  constexpr std::int64_t kMore = std::numeric_limits<std::int64_t>::max();
  need_size("q", a.q, {a.queries, heads * width}, {kMore, heads * width});
  need_size("k", a.k, {a.keys, key_heads * width}, {kMore, key_heads * width});
  need_size("lse", a.lse, {heads, a.queries}, {heads, kMore});
  if (!a.v.empty()) need_size("v", a.v, {a.keys, key_heads * width}, {kMore, key_heads * width});
  const Rule& rule = a.rule;
  const auto [queries, keys] = whole;
  const std::int64_t distances = queries + keys - 1;
  if (rule.distance_bias) need_size("distance_bias", *rule.distance_bias, {1, distances}, {heads, distances});
  if (rule.distance_bias && rule.distance_bias->rows() != 1)
    need_size("distance_bias", *rule.distance_bias, {heads, distances}, {heads, distances});
  if (rule.sink) need_size("sink", *rule.sink, {1, heads}, {1, heads});
  check_besides(rule.also, {1, heads, queries, keys});
}

// Queries that follow `first` others.
struct From {
  Mask mask;
  std::int64_t first = 0;

  [[nodiscard]] std::uint64_t row(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return mask.row(b, h, first + i, j);
  }
  [[nodiscard]] Cover cover(const Tile& tile) const {
    return mask.cover({tile.b, tile.h, first + tile.i0, first + tile.i1, tile.j0, tile.j1});
  }
};

// The row of a table [1|H, columns] that belongs to a head.
const float* row_of_head(const nn::Matrix& table, std::int64_t head) { return table.row(table.rows() == 1 ? 0 : head); }

}  // namespace

std::string_view name_of(Kind kind) noexcept { return kKindNames[static_cast<std::size_t>(kind)]; }

std::optional<Kind> parse_kind(std::string_view name) noexcept {
  const auto* const found = std::find(kKindNames.begin(), kKindNames.end(), name);
  if (found == kKindNames.end()) return std::nullopt;
  return static_cast<Kind>(found - kKindNames.begin());
}

Mask Rule::mask(std::int64_t seen) const {
  Mask places = [&]() -> Mask {
    if (window == 0) return causal ? Mask(Causal{seen}) : Mask();
    if (seen == 0) return causal ? Causal{} & Window{window - 1, 0} : Mask(Window{window});
    return Causal{causal ? seen : seen + window} & ~Mask(Causal{causal ? seen - window : seen - window - 1});
  }();
  if (also.everything()) return places;
  const Mask besides = seen == 0 ? also : Mask(From{also, seen});
  return places.everything() ? besides : places & besides;
}

void check_besides(const Mask& also, const Extent& extent) {
  if (also.per_head() || !also.bias().empty())
    throw std::invalid_argument("a recording's mask must be the same for every head and must not carry a bias");
  also.check(extent);
}

View<const float, 4> AttentionRecord::q_heads(std::int64_t first, std::int64_t count) const noexcept {
  return by_head(nn::rows_of(q.view(), first, count), shape.heads, shape.width);
}

View<const float, 4> AttentionRecord::k_heads(std::int64_t first, std::int64_t count) const noexcept {
  return by_head(nn::rows_of(k.view(), first, count), shape.key_heads, shape.width);
}

View<const float, 3> AttentionRecord::lse_rows(std::int64_t first, std::int64_t count) const noexcept {
  return {lse.data() + first, {1, shape.heads, count}, {0, lse.columns(), 1}};
}

AttentionLog::Rows AttentionLog::add(Kind kind, std::int64_t layer, const HeadShape& shape, const Rule& rule,
                                     Shape<2> queries_and_keys) {
  const auto [n, m] = queries_and_keys;
  auto found = std::find_if(attentions_.begin(), attentions_.end(),
                            [&](const AttentionRecord& a) { return a.kind == kind && a.layer == layer; });
  if (found == attentions_.end()) {
    AttentionRecord fresh;
    fresh.kind = kind;
    fresh.layer = layer;
    fresh.shape = shape;
    fresh.rule = rule;
    attentions_.push_back(std::move(fresh));
    found = attentions_.end() - 1;
  }
  AttentionRecord& a = *found;
  grow_rows(a.q, a.queries, a.queries + n, shape.query_columns());
  grow_rows(a.k, a.keys, a.keys + m, shape.key_columns());
  const bool values = keep_.values || keep_.value_norms;
  if (values) grow_rows(a.v, a.keys, a.keys + m, shape.key_columns());
  grow_columns(a.lse, a.queries, a.queries + n, shape.heads);
  Rows rows;
  rows.q = nn::rows_of(a.q.view(), a.queries, n);
  rows.k = nn::rows_of(a.k.view(), a.keys, m);
  if (values) rows.v = nn::rows_of(a.v.view(), a.keys, m);
  rows.lse = {a.lse.data() + a.queries, {1, shape.heads, n}, {0, a.lse.columns(), 1}};
  a.queries += n;
  a.keys += m;
  return rows;
}

void AttentionLog::set_sequences(Kind kind, std::span<const std::int64_t> query_starts,
                                 std::span<const std::int64_t> key_starts) {
  auto& s = sequences_[static_cast<std::size_t>(kind)];
  s.queries.assign(query_starts.begin(), query_starts.end());
  s.keys.assign(key_starts.begin(), key_starts.end());
}

void AttentionLog::add_hidden(bool decoder, std::size_t index, View<const float, 2> rows) {
  auto& states = hidden_[decoder ? 1 : 0];
  if (states.size() <= index) states.resize(index + 1);
  nn::Matrix& state = states[index];
  nn::Matrix longer(state.rows() + rows.shape[0], rows.shape[1]);
  const auto row_bytes = static_cast<std::size_t>(rows.shape[1]) * sizeof(float);
  if (!state.empty()) copy_bytes(longer.data(), state.data(), static_cast<std::size_t>(state.rows()) * row_bytes);
  for (std::int64_t i = 0; i < rows.shape[0]; ++i) {
    copy_bytes(longer.row(state.rows() + i), rows.at(i), row_bytes);
  }
  state = std::move(longer);
}

void AttentionLog::add_inputs(Kind kind, std::int64_t layer, View<const float, 2> x) {
  AttentionRecord& a = mine(kind, layer);
  const std::int64_t before = a.queries - x.shape[0];
  grow_rows(a.x, before, a.queries, x.shape[1]);
  for (std::int64_t i = 0; i < x.shape[0]; ++i) {
    copy_bytes(a.x.row(before + i), x.at(i), static_cast<std::size_t>(x.shape[1]) * sizeof(float));
  }
}

void AttentionLog::insert(AttentionRecord record, std::optional<Shape<2>> whole) {
  check_whole(record, whole.value_or(Shape<2>{record.queries, record.keys}));
  const std::int64_t queries[] = {0, record.queries};
  const std::int64_t keys[] = {0, record.keys};
  set_sequences(record.kind, queries, keys);
  attentions_.push_back(std::move(record));
}

void AttentionLog::finish(const Model& model) {
  if (!keep_.value_norms) return;
  for (AttentionRecord& a : attentions_) {
    a.value_norms = value_norms(a, model.output_projection(a.kind, a.layer));
    if (!keep_.values) a.v = {};
  }
}

AttentionRecord& AttentionLog::mine(Kind kind, std::int64_t layer) {
  return const_cast<AttentionRecord&>(attention(kind, layer));
}

const AttentionRecord& AttentionLog::attention(Kind kind, std::int64_t layer) const {
  if (!has(kind)) {
    std::string kinds;
    for (const Kind other : {Kind::self, Kind::decoder, Kind::cross}) {
      if (has(other)) kinds += (kinds.empty() ? "" : ", ") + std::string(name_of(other));
    }
    throw std::invalid_argument("no attention of kind '" + std::string(name_of(kind)) +
                                "' was recorded, only: " + (kinds.empty() ? "none" : kinds));
  }
  need_index("layer", layer, layers(kind));
  return *std::find_if(attentions_.begin(), attentions_.end(),
                       [&](const AttentionRecord& a) { return a.kind == kind && a.layer == layer; });
}

bool AttentionLog::has(Kind kind) const noexcept { return layers(kind) > 0; }

std::int64_t AttentionLog::layers(Kind kind) const noexcept {
  return std::count_if(attentions_.begin(), attentions_.end(),
                       [&](const AttentionRecord& a) { return a.kind == kind; });
}

const std::vector<nn::Matrix>& AttentionLog::hidden(bool decoder) const noexcept { return hidden_[decoder ? 1 : 0]; }

std::int64_t AttentionLog::bytes() const noexcept {
  std::int64_t numbers = 0;
  const auto count = [&](const nn::Matrix& one) { numbers += one.rows() * one.columns(); };
  for (const AttentionRecord& a : attentions_)
    for (const nn::Matrix* const one : {&a.q, &a.k, &a.lse, &a.v, &a.x, &a.value_norms}) count(*one);
  for (const std::vector<nn::Matrix>& states : hidden_)
    for (const nn::Matrix& one : states) count(one);
  return numbers * static_cast<std::int64_t>(sizeof(float));
}

const AttentionLog::Sequences& AttentionLog::sequences(Kind kind) const {
  return sequences_[static_cast<std::size_t>(kind)];
}

Shape<2> AttentionLog::size(Kind kind, std::int64_t sequence) const {
  const Sequences& s = sequences(kind);
  need_index("sequence", sequence, static_cast<std::int64_t>(s.queries.size()) - 1);
  const auto at = static_cast<std::size_t>(sequence);
  return {s.queries[at + 1] - s.queries[at], s.keys[at + 1] - s.keys[at]};
}

void AttentionLog::weights(const Which& which, Rectangle window, View<float, 2> out, ThreadPool& pool) const {
  const AttentionRecord& a = attention(which.kind, which.layer);
  need_index("head", which.head, a.shape.heads);
  const auto [n, m] = size(which.kind, which.sequence);
  const Sequences& starts = sequences(which.kind);
  const auto at = static_cast<std::size_t>(which.sequence);
  const std::int64_t key_head = which.head / (a.shape.heads / a.shape.key_heads);

  const auto q = a.q_heads(starts.queries[at], n);
  const auto k = a.k_heads(starts.keys[at], m);
  const auto lse = a.lse_rows(starts.queries[at], n);
  Inputs in;
  in.q = View<const float, 4>(q.at(0, which.head), {1, 1, n, a.shape.width}, q.strides);
  in.k = View<const float, 4>(k.at(0, key_head), {1, 1, m, a.shape.width}, k.strides);
  in.v = in.k;  // unused
  Options options;
  options.mask = a.rule.mask();
  options.scale = a.rule.scale;
  std::optional<DistanceBias> bias;
  if (a.rule.bias) {
    const View<const float, 2> table = a.rule.bias->table.view();
    const View<const float, 2> one_head{table.at(0, which.head), {table.shape[0], 1}, table.strides};
    bias.emplace(t5_bias(one_head, {n, m, 0}, a.rule.bias->rule));
    options.bias = std::as_const(*bias).view();
  }
  options.softcap = a.rule.softcap;
  if (a.rule.distance_bias)
    options.bias = {row_of_head(*a.rule.distance_bias, which.head), {1, a.rule.distance_bias->columns()}};
  if (a.rule.sink) options.sink = {a.rule.sink->data() + which.head, {1}};
  attn::weights(in, options, {lse.at(0, which.head), {1, 1, n}, lse.strides}, window,
                {out.data, {1, 1, out.shape[0], out.shape[1]}, {0, 0, out.strides[0], 1}}, pool);
}

nn::Matrix AttentionLog::weights(const Which& which, ThreadPool& pool) const {
  const auto [n, m] = (static_cast<void>(attention(which.kind, which.layer)), size(which.kind, which.sequence));
  nn::Matrix out(n, m);
  weights(which, {}, out.view(), pool);
  return out;
}

}  // namespace attn::model
