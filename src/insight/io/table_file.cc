#include "insight/io/table_file.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "attn/error.h"
#include "base/json_file.h"
#include "base/one_line.h"
#include "base/read_file.h"
#include "insight/io/table_formats.h"
#include "model/files/safetensors.h"

namespace attn::insight {

namespace {

constexpr std::int64_t kMostBytes = std::int64_t{4} << 30;
constexpr std::size_t kMostAxes = 4;

[[noreturn]] void fail(const std::string& path, const std::string& problem) { throw Error(path, problem); }

std::string shown(const nlohmann::json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list of " + std::to_string(value.size());
  return base::one_line(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

// The shape that the first element of each list implies; fill() checks the other elements.
std::vector<std::int64_t> shape_of_lists(const nlohmann::json& lists) {
  std::vector<std::int64_t> shape;
  for (const nlohmann::json* at = &lists; at->is_array() && shape.size() <= kMostAxes; at = &at->front()) {
    shape.push_back(static_cast<std::int64_t>(at->size()));
    if (at->empty()) break;
  }
  return shape;
}

// Copies nested lists into numbers, in order. `where` is the index of the current list: "[0][3]".
struct Filler {
  std::span<const std::int64_t> shape;
  float* next;
  const std::string& path;

  void fill(const nlohmann::json& list, std::size_t axis, const std::string& where) {
    if (!list.is_array() || static_cast<std::int64_t>(list.size()) != shape[axis])
      insight::fail(path, "weights" + where + " is " + shown(list) + "; a list of " + std::to_string(shape[axis]) +
                              " is needed, as the first of its kind has");
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto here = [&] { return where + "[" + std::to_string(i) + "]"; };
      if (axis + 1 < shape.size()) {
        fill(list[i], axis + 1, here());
        continue;
      }
      if (!list[i].is_number())
        insight::fail(path, "weights" + here() + " is " + shown(list[i]) + "; a number is needed");
      *next++ = list[i].get<float>();
    }
  }
};

std::vector<std::string> names_in(const nlohmann::json& object, const char* key, const std::string& path) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return {};
  if (!found->is_array()) fail(path, std::string(key) + " is " + shown(*found) + "; a list of texts is needed");
  std::vector<std::string> names;
  for (const nlohmann::json& name : *found) {
    if (!name.is_string()) {
      fail(path, key + ("[" + std::to_string(names.size()) + "] is ") + shown(name) + "; a text is needed");
    }
    names.push_back(name.get<std::string>());
  }
  return names;
}

}  // namespace

InMemoryTables::Tables tables_of(std::span<const std::int64_t> shape, const std::string& path) {
  if (shape.size() < 2 || shape.size() > kMostAxes)
    fail(path, "has shape " + model::shape_text(shape) +
                   "; [queries, keys], [heads, queries, keys] or [layers, heads, queries, keys] is needed");
  if (std::ranges::find(shape, 0) != shape.end()) fail(path, "has shape " + model::shape_text(shape) + ": it is empty");
  InMemoryTables::Tables tables;
  const std::size_t rank = shape.size();
  if (rank > 3) tables.layers = shape[0];
  if (rank > 2) tables.heads = shape[rank - 3];
  tables.numbers = nn::Matrix(tables.layers * tables.heads * shape[rank - 2], shape[rank - 1]);
  return tables;
}

std::string place_of(std::int64_t index, std::span<const std::int64_t> shape) {
  constexpr const char* kAxes[kMostAxes] = {"layer", "head", "row", "column"};
  std::string text;
  for (std::size_t axis = shape.size(); axis-- > 0; index /= shape[axis]) {
    const std::string part = kAxes[kMostAxes - shape.size() + axis] + (" " + std::to_string(index % shape[axis]));
    text = text.empty() ? part : part + ", " + text;
  }
  return text;
}

void check_finite(const InMemoryTables::Tables& tables, std::span<const std::int64_t> shape, const std::string& path) {
  const float* const begin = tables.numbers.data();
  const float* const end = begin + tables.numbers.rows() * tables.numbers.columns();
  const float* const wrong = std::find_if(begin, end, [](float p) { return !std::isfinite(p); });
  if (wrong == end) return;
  fail(path, place_of(wrong - begin, shape) + " (from 0) is " +
                 (std::isnan(*wrong) ? "not a number (NaN)" : "infinite or too large for a float") +
                 "; weights are finite");
}

TableFile read_json(const std::string& text, const std::string& path) {
  const nlohmann::json top = base::parse_json(text, path);
  TableFile file;
  const nlohmann::json* weights = &top;
  if (top.is_object()) {
    const auto found = top.find("weights");
    if (found == top.end()) fail(path, "has no \"weights\"; lists of numbers, or {\"weights\": lists} is needed");
    weights = &*found;
    file.queries = names_in(top, "tokens", path);
    file.keys = names_in(top, "keys", path);
  }
  if (!weights->is_array()) fail(path, "weights are " + shown(*weights) + "; lists of numbers are needed");
  const std::vector<std::int64_t> shape = shape_of_lists(*weights);
  file.tables = tables_of(shape, path);
  Filler{shape, file.tables.numbers.data(), path}.fill(*weights, 0, "");
  check_finite(file.tables, shape, path);
  return file;
}

TableFile read_table(const std::filesystem::path& file) {
  struct Known {
    const char* ending;
    TableFile (*read)(const std::string&, const std::string&);
  };
  constexpr Known kKnown[] = {{".npy", read_npy}, {".csv", read_csv}, {".json", read_json}};
  const auto* const known =
      std::ranges::find(kKnown, file.extension().string(), [](const Known& k) { return std::string(k.ending); });
  if (known == std::end(kKnown)) fail(file.string(), "is not a table; the name must end in .npy, .csv or .json");
  const std::string text = base::read_file(file, kMostBytes);
  if (text.empty()) fail(file.string(), "is empty");
  TableFile read = known->read(text, file.string());
  const auto fits = [&](const std::vector<std::string>& names, std::int64_t count, const char* what) {
    if (!names.empty() && std::ssize(names) != count)
      fail(file.string(), "names " + std::to_string(names.size()) + " " + what + ", but has " + std::to_string(count));
  };
  fits(read.queries, read.tables.numbers.rows() / (read.tables.layers * read.tables.heads), "rows (tokens)");
  fits(read.keys, read.tables.numbers.columns(), "columns (keys)");
  return read;
}

}  // namespace attn::insight
