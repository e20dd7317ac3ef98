#include "python/scope/recordings.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "attn/error.h"
#include "base/parallel_for.h"
#include "insight/io/table_file.h"
#include "insight/statistics/check.h"
#include "model/recording/recording_file.h"
#include "python/engine/arrays.h"
#include "python/scope/names.h"
#include "python/scope/work.h"

namespace attn::python {
namespace {

using namespace nb::literals;
using insight::AttentionTables;
using insight::HeadId;

// ---- what it is ----

nb::list stacks_of(const Recording& recording) {
  nb::list out;
  for (const insight::AttentionStack& stack : recording.tables->stacks())
    out.append(nb::make_tuple(text_of(name_of(stack.kind)), stack.layers, stack.heads, stack.queries, stack.keys));
  return out;
}

nb::dict origin_of(const Recording& recording) {
  nb::dict out;
  const model::Recording* const recorded = recording.tables->recording();
  if (recorded == nullptr) return out;
  const model::Origin& origin = recorded->origin;
  out["model"] = text_of(origin.model);
  out["type"] = text_of(origin.type);
  out["form"] = text_of(name_of(origin.form));
  out["text"] = text_of(origin.text.text);
  out["pair"] = origin.text.pair ? nb::object(text_of(*origin.text.pair)) : nb::none();
  out["target"] = origin.text.target ? nb::object(text_of(*origin.text.target)) : nb::none();
  return out;
}

nb::list texts_of(const std::vector<text::Token>& tokens) {
  nb::list out;
  for (const text::Token& token : tokens) out.append(text_of(token.text));
  return out;
}

// ---- weights ----

// Heads [layer, + layers) x [head, + heads), rows [row, + rows), columns [col, + cols).
struct Part {
  insight::Kind kind = insight::Kind::self;
  std::int64_t layer = 0, layers = 0, head = 0, heads = 0;
  Rectangle window;
  std::int64_t rows = 0, cols = 0;
};

Part read_part(const std::string& kind, const nb::tuple& given) {
  const auto at = [&](int index) { return nb::cast<std::int64_t>(given[index]); };
  return {parse_kind(kind), at(0), at(1), at(2), at(3), {at(4), at(6)}, at(5), at(7)};
}

void copy_weights(const AttentionTables& tables, const Part& part, float* out, ThreadPool& pool) {
  const auto one = [&](std::int64_t n, ThreadPool& with) {
    const HeadId head{part.kind, part.layer + n / part.heads, part.head + n % part.heads};
    tables.weights(head, part.window, {out + n * part.rows * part.cols, {part.rows, part.cols}}, with);
  };
  const std::int64_t count = part.layers * part.heads;
  if (count == 1) return one(0, pool);
  base::parallel_for(count, until_interrupted(), pool, [&](std::int64_t n) {
    ThreadPool alone(1);
    one(n, alone);
  });
}

// [layers, heads, rows, cols]; the package has checked that they are there.
nb::object weights(const Recording& recording, const std::string& kind, const nb::tuple& given) {
  const Part part = read_part(kind, given);
  const Shape<4> shape{part.layers, part.heads, part.rows, part.cols};
  const Result out = new_result(Kind::numpy, shape);
  if (part.layers * part.heads * part.rows * part.cols > 0)
    unlocked([&](ThreadPool& pool) { copy_weights(*recording.tables, part, out.data, pool); });
  return out.array;
}

// Hidden states `index`; 0 is the input of the first layer.
nb::object hidden(const Recording& recording, std::int64_t index, bool decoder) {
  const std::vector<nn::Matrix>& all = recording.recorded("hidden()").log.hidden(decoder);
  if (all.empty()) throw std::invalid_argument("the recording has no hidden states: record with hidden=True");
  if (index < 0 || index >= std::ssize(all))
    throw nb::index_error(("there are hidden states 0 to " + std::to_string(all.size() - 1)).c_str());
  return array_of(all[static_cast<std::size_t>(index)]);
}

std::int64_t hidden_count(const Recording& recording, bool decoder) {
  const model::Recording* const recorded = recording.tables->recording();
  return recorded == nullptr ? 0 : std::ssize(recorded->log.hidden(decoder));
}

// ---- from files and tables ----

std::string stem_of(const std::string& file) { return std::filesystem::path(file).stem().string(); }

// Checks the recording as the command line does: throws with the place of a broken weight.
Recording open_recording(const std::string& file) {
  return unlocked([&](ThreadPool& pool) {
    auto tables = std::make_shared<insight::RecordedTables>(model::load_recording(file));
    const auto check = insight::check_weights(*tables, {.progress = until_interrupted()}, pool);
    if (check.failure) throw Error(file, "is broken: " + to_string(*check.failure));
    std::string name = tables->recording()->origin.short_name();
    return Recording{std::move(tables), std::move(name)};
  });
}

using MaybeNames = std::optional<std::vector<std::string>>;

Recording open_table(const std::string& file, const MaybeNames& queries, const MaybeNames& keys) {
  return unlocked([&](ThreadPool& /*pool*/) {
    insight::TableFile table = insight::read_table(file);
    if (queries) table.queries = *queries, table.keys.clear();
    if (keys) table.keys = *keys;
    return Recording{std::make_shared<insight::InMemoryTables>(std::move(table.tables), std::move(table.queries),
                                                               std::move(table.keys)),
                     stem_of(file)};
  });
}

// Appends a copy of a table [L, H, N, M].
void copy_rows(const Array& array, float*& to) {
  const View<const float, 4> from = last_axes<4>(array);
  for (std::int64_t l = 0; l < from.shape[0]; ++l)
    for (std::int64_t h = 0; h < from.shape[1]; ++h)
      for (std::int64_t i = 0; i < from.shape[2]; ++i) to = std::copy_n(&from(l, h, i, 0), from.shape[3], to);
}

Recording from_tables(const nb::list& layers, const MaybeNames& queries, const MaybeNames& keys,
                      const std::string& name) {
  return {std::make_shared<insight::InMemoryTables>(read_tables(layers), queries.value_or(std::vector<std::string>{}),
                                                    keys.value_or(std::vector<std::string>{})),
          name};
}

void save_recording(const Recording& recording, const std::string& file) {
  static_cast<void>(recording.weights("save()"));
  const model::Recording& recorded = recording.recorded("save()");
  unlocked([&](ThreadPool& /*pool*/) { model::save_recording(recorded, file, check_signals); });
}

// "layer 5, head 0, row 3: the weights sum to 1.37, not 1", or none.
std::optional<std::string> problem(const Recording& recording) {
  const auto check = unlocked([&](ThreadPool& pool) {
    return insight::check_weights(*recording.tables, {.progress = until_interrupted()}, pool);
  });
  return check.failure ? std::optional(to_string(*check.failure)) : std::nullopt;
}

// The same heads with more ViewOptions applied on top of those of this recording.
Recording viewed(const Recording& recording, const std::string& measure, bool words, bool without_sinks) {
  const insight::ViewOptions more{insight::parse_measure(measure), words, without_sinks};
  insight::ViewOptions all = recording.view;
  if (more.measure != insight::Measure::raw) all.measure = more.measure;
  all.words |= words;
  all.without_sinks |= without_sinks;
  return {insight::view(recording.tables, more), recording.name, all};
}

}  // namespace

insight::InMemoryTables::Tables read_tables(const nb::list& layers) {
  std::vector<Array> arrays;
  insight::InMemoryTables::Tables tables{.layers = 0, .heads = 0, .numbers = {}};
  for (const nb::handle layer : layers) {
    arrays.push_back(read_array(layer, {.name = "weights", .least_rank = 2, .most_rank = 4, .any_float = true}));
    const Shape<4>& one = arrays.back().view.shape;
    const Shape<4>& first = arrays.front().view.shape;
    if (!std::equal(one.begin() + 1, one.end(), first.begin() + 1))
      throw std::invalid_argument("the weights of all layers must have the same shape, not " + shape_text(first) +
                                  " and " + shape_text(one));
    tables.layers += one[0];
  }
  if (arrays.empty()) throw std::invalid_argument("there are no weights");
  const Shape<4>& shape = arrays.front().view.shape;
  tables.heads = shape[1];
  tables.numbers = nn::Matrix(tables.layers * shape[1] * shape[2], shape[3]);
  float* to = tables.numbers.data();
  for (const Array& array : arrays) copy_rows(array, to);
  return tables;
}

const insight::AttentionTables& Recording::weights(const char* asking) const {
  const insight::Numbers numbers = tables->numbers();
  if (numbers == insight::Numbers::weights) return *tables;
  throw std::invalid_argument(std::string(asking) + " takes attention weights, but this recording holds " +
                              std::string(name_of(numbers)) + ": use the " +
                              (numbers == insight::Numbers::norms ? "recording itself" : "two recordings themselves"));
}

const model::Recording& Recording::recorded(const char* asking) const {
  if (const model::Recording* found = tables->recording()) return *found;
  throw std::invalid_argument(std::string(asking) + " takes a model's recording, but this one is a table of weights");
}

void bind_recordings(nb::module_& m) {
  nb::class_<Recording>(m, "Recording")
      .def_ro("name", &Recording::name)
      .def("stacks", &stacks_of)
      .def("origin", &origin_of)
      .def("queries",
           [](const Recording& r, const std::string& kind) { return texts_of(r.tables->queries(parse_kind(kind))); })
      .def("keys",
           [](const Recording& r, const std::string& kind) { return texts_of(r.tables->keys(parse_kind(kind))); })
      .def("weights", &weights)
      .def("hidden", &hidden)
      .def("hidden_count", &hidden_count)
      .def("save", &save_recording)
      .def("problem", &problem)
      .def("view", &viewed)
      .def("numbers", [](const Recording& r) { return text_of(name_of(r.tables->numbers())); });
  m.def("open_recording", &open_recording);
  m.def("open_table", &open_table, "file"_a, "queries"_a.none(), "keys"_a.none());
  m.def("from_tables", &from_tables, "layers"_a, "queries"_a.none(), "keys"_a.none(), "name"_a);
}

}  // namespace attn::python
