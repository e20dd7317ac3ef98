#include "python/scope/assemble.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "insight/tables/attention_tables.h"
#include "model/recording/attention_log.h"
#include "python/scope/names.h"
#include "python/scope/recordings.h"

namespace attn::python {
namespace {

using namespace nb::literals;

// The members of a text::Token: id, piece, text, from, to, sequence, word, special.
using TokenParts = std::tuple<std::int32_t, std::string, std::string, std::int64_t, std::int64_t, std::int32_t,
                              std::optional<std::int64_t>, bool>;

std::vector<text::Token> tokens_of(std::vector<TokenParts> parts) {
  std::vector<text::Token> tokens;
  tokens.reserve(parts.size());
  for (auto& [id, piece, text, from, to, sequence, word, special] : parts)
    tokens.push_back({id, std::move(piece), std::move(text), {from, to}, sequence, word, special});
  return tokens;
}

model::Form form_of(const std::string& name) {
  for (const model::Form form : {model::Form::encoder, model::Form::decoder, model::Form::encoder_decoder})
    if (model::name_of(form) == name) return form;
  throw std::invalid_argument("form is '" + name + "'; it must be 'encoder', 'decoder' or 'encoder-decoder'");
}

// Memory that Python fills and an Assembly takes over, so that long texts are in memory once. Do not write to it after
// that.
struct RecordedRows {
  RecordedRows(std::int64_t rows, std::int64_t columns) : numbers(rows, columns) {}

  nn::Matrix numbers;
};

nb::object array_of_rows(nb::handle self) {
  nn::Matrix& numbers = nb::cast<RecordedRows&>(self).numbers;
  const std::size_t shape[] = {static_cast<std::size_t>(numbers.rows()), static_cast<std::size_t>(numbers.columns())};
  return nb::cast(nb::ndarray<nb::numpy, float, nb::ndim<2>>(numbers.data(), 2, shape, self));
}

// Copies an array, or takes over RecordedRows.
nn::Matrix matrix_of(nb::handle array, const char* name) {
  if (nb::isinstance<RecordedRows>(array)) return std::move(nb::cast<RecordedRows&>(array).numbers);
  return copied(array, name);
}

// Takes one attention at a time, so that the caller can free each, then the tokens.
class Assembly {
 public:
  explicit Assembly(bool values) { recording_.log = model::AttentionLog(model::Keep{.values = values}); }

  // q [N, H D], k [M, G D], lse [H, N], v [M, G D] or none, each an array or RecordedRows; layers by rising number.
  void add(const std::string& kind, std::int64_t layer, const nb::tuple& arrays, const nb::dict& rule) {
    const model::Kind known = parse_kind(kind);
    if (layer != recording_.log.layers(known))
      throw std::invalid_argument(kind + " layer " + std::to_string(layer) + " stands where layer " +
                                  std::to_string(recording_.log.layers(known)) + " is due");
    model::AttentionRecord record;
    record.kind = known;
    record.layer = layer;
    record.q = matrix_of(arrays[0], "q");
    record.k = matrix_of(arrays[1], "k");
    record.lse = matrix_of(arrays[2], "lse");
    if (!arrays[3].is_none()) record.v = matrix_of(arrays[3], "v");
    record.queries = record.q.rows();
    record.keys = record.k.rows();
    record.shape.heads = record.lse.rows();
    record.shape.width = nb::cast<std::int64_t>(rule["width"]);
    record.shape.key_heads = record.k.columns() / record.shape.width;
    record.rule = rule_of(rule);
    recording_.log.insert(std::move(record));
  }

  // from: name of the model, its type, form, text, and the input of its decoder.
  using From = std::tuple<std::string, std::string, std::string, std::string, std::optional<std::string>>;
  Recording finish(const From& from, std::vector<TokenParts> tokens, std::vector<TokenParts> target,
                   std::vector<TokenParts> written) {
    const auto& [name, type, form, text, said] = from;
    recording_.origin = {name, type, form_of(form), {text, {}, said}};
    recording_.tokens = tokens_of(std::move(tokens));
    recording_.target = tokens_of(std::move(target));
    recording_.written = tokens_of(std::move(written));
    for (const model::AttentionRecord& a : recording_.log.attentions()) {
      need_tokens(a, "queries", a.queries, std::ssize(recording_.queries(a.kind)));
      need_tokens(a, "keys", a.keys, std::ssize(recording_.keys(a.kind)));
    }
    shared_.clear();
    std::string called = recording_.origin.short_name();
    return {std::make_shared<const insight::RecordedTables>(std::exchange(recording_, model::Recording())),
            std::move(called)};
  }

 private:
  static void need_tokens(const model::AttentionRecord& a, const char* what, std::int64_t rows, std::int64_t tokens) {
    if (rows != tokens)
      throw std::invalid_argument(std::string(model::name_of(a.kind)) + " layer " + std::to_string(a.layer) + " has " +
                                  std::to_string(rows) + " " + what + ", but there are " + std::to_string(tokens) +
                                  " tokens");
  }

  model::Rule rule_of(const nb::dict& from) {
    model::Rule rule;
    rule.causal = nb::cast<bool>(from["causal"]);
    rule.window = nb::cast<std::int64_t>(from["window"]);
    rule.scale = nb::cast<float>(from["scale"]);
    rule.softcap = nb::cast<float>(from["softcap"]);
    if (!from["also"].is_none()) rule.also = parse_mask(nb::cast<std::string>(from["also"]));
    rule.distance_bias = shared(from["distance_bias"], "distance_bias");
    rule.sink = shared(from["sink"], "sink");
    return rule;
  }

  // An object that several layers share is stored once.
  std::shared_ptr<const nn::Matrix> shared(nb::object array, const char* name) {
    if (array.is_none()) return nullptr;
    auto& [owner, table] = shared_[array.ptr()];
    if (table == nullptr) table = std::make_shared<const nn::Matrix>(matrix_of(array, name));
    owner = std::move(array);
    return table;
  }

  model::Recording recording_;
  std::map<PyObject*, std::pair<nb::object, std::shared_ptr<const nn::Matrix>>> shared_;
};

}  // namespace

void bind_assemble(nb::module_& m) {
  nb::class_<RecordedRows>(m, "Rows", "Memory [rows, columns] that an Assembly takes over.")
      .def(nb::init<std::int64_t, std::int64_t>(), "rows"_a, "columns"_a)
      .def("array", &array_of_rows, "Returns its numbers without copying.");
  nb::class_<Assembly>(m, "Assembly", "Assembles a recording: attentions first, then tokens.")
      .def(nb::init<bool>(), "values"_a)
      .def("add", &Assembly::add, "kind"_a, "layer"_a, "arrays"_a, "rule"_a)
      .def("finish", &Assembly::finish, "origin"_a, "tokens"_a, "target"_a, "written"_a);
}

}  // namespace attn::python
