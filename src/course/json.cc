#include "course/json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

#include "attn/error.h"
#include "base/csv.h"
#include "base/json_file.h"

namespace attn::course {

namespace {

Json nested(const LessonArray& array, std::size_t axis, std::size_t& next) {
  if (axis == array.shape.size()) {
    const double number = array.numbers[next++];
    return std::isfinite(number) ? Json(number) : Json(nullptr);
  }
  Json list = Json::array();
  for (std::int64_t n = 0; n < array.shape[axis]; ++n) list.push_back(nested(array, axis + 1, next));
  return list;
}

template <typename AnyJson>
void flatten(const AnyJson& lists, std::size_t axis, LessonArray& out, const std::string& name) {
  if (lists.is_array()) {
    if (axis == out.shape.size()) throw std::invalid_argument(name + " has rows of different depths");
    if (std::ssize(lists) != out.shape[axis])
      throw std::invalid_argument(
          fmt::format("{} has rows of {} and of {} numbers", name, out.shape[axis], lists.size()));
    for (const AnyJson& each : lists) flatten(each, axis + 1, out, name);
    return;
  }
  if (axis != out.shape.size() || !(lists.is_number() || lists.is_null()))
    throw std::invalid_argument(name + " must be numbers in lists of equal length");
  out.numbers.push_back(lists.is_null() ? -std::numeric_limits<double>::infinity() : lists.template get<double>());
}

std::optional<double> field_number(std::string_view field) {
  const std::size_t first = std::min(field.find_first_not_of(" \t"), field.size());
  field.remove_prefix(first);
  while (!field.empty() && (field.back() == ' ' || field.back() == '\t')) field.remove_suffix(1);
  double value = 0;
  const auto [stop, problem] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (problem != std::errc() || stop != field.data() + field.size()) return std::nullopt;
  return value;
}

template <typename AnyJson>
bool is_words(const AnyJson& value) {
  return value.is_array() && !value.empty() &&
         std::ranges::all_of(value, [](const AnyJson& each) { return each.is_string(); });
}

std::string_view block_name(ScriptBlock::What what) {
  switch (what) {
    case ScriptBlock::What::formula:
      return "formula";
    case ScriptBlock::What::show:
      return "show";
    case ScriptBlock::What::item:
      return "item";
    case ScriptBlock::What::wrong:
      return "wrong";
    case ScriptBlock::What::question:
      return "question";
    case ScriptBlock::What::paragraph:
      break;
  }
  return "paragraph";
}

template <typename T, typename F>
Json object_of(const Named<T>& all, const F& value_of) {
  Json out = Json::object();
  for (const auto& [name, value] : all) out[name] = value_of(value);
  return out;
}

// The numbers that JSON cannot hold, in the order of the nulls that stand for them.
Json not_finite(const LessonArray& array) {
  Json names = Json::array();
  for (const double number : array.numbers)
    if (!std::isfinite(number)) names.push_back(std::isnan(number) ? "nan" : number < 0 ? "-inf" : "inf");
  return names;
}

Json with_shape(const LessonArray& array) {
  Json out = {{"shape", array.shape}, {"numbers", to_json(array)}};
  if (Json names = not_finite(array); !names.empty()) out["not_finite"] = std::move(names);
  if (!array.rows.empty()) out["rows"] = array.rows;
  if (!array.columns.empty()) out["columns"] = array.columns;
  out["made"] = {{"by", std::string(name_of(array.made.by))}};
  if (!array.made.left.empty()) out["made"]["left"] = array.made.left;
  if (!array.made.right.empty()) out["made"]["right"] = array.made.right;
  return out;
}

}  // namespace

Json parse_lesson_file(const std::string& text) { return Json::parse(text); }

nlohmann::json parse_reader_data(const std::string& text) {
  try {
    return base::parse_json(text, "the data");
  } catch (const Error& wrong) {
    throw std::invalid_argument(wrong.what());
  }
}

Json to_json(const LessonArray& array) {
  std::size_t next = 0;
  return nested(array, 0, next);
}

template <typename AnyJson>
LessonArray array_of(const AnyJson& lists, const std::string& name) {
  LessonArray out;
  for (const AnyJson* part = &lists; part->is_array(); part = &part->front()) {
    if (part->empty()) throw std::invalid_argument(name + " is empty");
    out.shape.push_back(std::ssize(*part));
  }
  flatten(lists, 0, out, name);
  return out;
}

LessonArray array_of_csv(const std::string& csv) {
  std::vector<std::vector<std::string>> table;
  static const std::string name = "the table";
  base::CsvLines lines(csv, name);
  for (std::vector<std::string> cells; lines.next(cells);) table.push_back(cells);
  LessonArray out;
  if (!table.empty() && !table[0].empty() && !field_number(table[0].back())) {
    out.columns.assign(table[0].begin() + (table[0][0].empty() ? 1 : 0), table[0].end());
    table.erase(table.begin());
  }
  for (const std::vector<std::string>& row : table) {
    const bool is_named = !row.empty() && !field_number(row[0]);
    if (is_named) out.rows.push_back(row[0]);
    for (std::size_t n = is_named ? 1 : 0; n < row.size(); ++n) {
      const std::optional<double> number = field_number(row[n]);
      if (!number) throw std::invalid_argument("'" + row[n] + "' is not a number");
      out.numbers.push_back(*number);
    }
  }
  const std::int64_t height = std::ssize(table);
  if (out.numbers.empty() || std::ssize(out.numbers) % height != 0)
    throw std::invalid_argument("the rows of the table have different lengths");
  out.shape = {height, std::ssize(out.numbers) / height};
  return out;
}

template LessonArray array_of(const Json& lists, const std::string& name);
template LessonArray array_of(const nlohmann::json& lists, const std::string& name);

template <typename AnyJson>
void put(LessonInput& input, const AnyJson& object, Put what) {
  if (!object.is_object()) throw std::invalid_argument("must be a JSON object of arrays by name");
  for (const auto& [name, value] : object.items()) {
    const bool known = std::ranges::find(input.names, name) != input.names.end();
    if (!known && what == Put::known)
      throw std::invalid_argument(
          fmt::format("the lesson has no '{}'; choose from {}", name, fmt::join(input.names, ", ")));
    if (!known) input.names.push_back(name);
    if (value.is_string())
      input.texts[name] = value.template get<std::string>();
    else if (is_words(value))
      input.lists[name] = value.template get<std::vector<std::string>>();
    else
      input.arrays[name] = array_of(value, name);
  }
}

template void put(LessonInput& input, const Json& object, Put what);
template void put(LessonInput& input, const nlohmann::json& object, Put what);

Json list_json(const std::string& language) {
  Json out = Json::array();
  for (const Lesson& one : lessons())
    out.push_back({{"name", one.name},
                   {"title", one.scripts.at(language).title},
                   {"line", one.scripts.at(language).line},
                   {"minutes", one.minutes},
                   {"before", one.before}});
  return {{"lessons", std::move(out)}};
}

Json numbers_json(const Lesson& lesson, const LessonOutput& output) {
  const auto lists = [](const LessonArray& array) { return to_json(array); };
  Json out = {{"name", lesson.name}, {"numbers", object_of(output.arrays, lists)}};
  if (output.words.begin() != output.words.end())
    out["words"] = object_of(output.words, [](const std::string& word) { return Json(word); });
  if (output.measured.begin() != output.measured.end()) out["measured"] = object_of(output.measured, lists);
  return out;
}

Json page_json(const Lesson& lesson, const std::string& language, const LessonInput& input,
               const LessonOutput& output) {
  const Script script = filled(lesson.scripts.at(language), output);
  Json steps = Json::array();
  for (const ScriptStep& step : script.steps) {
    Json blocks = Json::array();
    for (const ScriptBlock& block : step.blocks) {
      blocks.push_back({{"what", std::string(block_name(block.what))}, {"text", block.text}});
      if (!block.how.empty()) blocks.back()["how"] = block.how;
      if (block.measured) blocks.back()["measured"] = true;
      if (!block.answer.empty()) blocks.back()["tolerance"] = block.tolerance;
    }
    steps.push_back({{"id", step.id}, {"title", step.title}, {"blocks", std::move(blocks)}});
  }
  Json code = Json::object();
  for (const auto& [file, parts] : lesson.code)
    for (const auto& [id, text] : parts) code[id][file == "steps.cc" ? "cpp" : "python"] = text;
  Json settings = Json::array();
  for (const Setting& one : input.settings())
    settings.push_back({{"name", one.name},
                        {"what", one.what.at(language)},
                        {"value", one.value},
                        {"least", one.least},
                        {"most", one.most},
                        {"whole", one.whole}});
  Json arrays = object_of(output.arrays, with_shape);
  arrays.update(object_of(output.measured, with_shape));
  return {{"name", lesson.name},
          {"language", language},
          {"title", script.title},
          {"line", script.line},
          {"minutes", lesson.minutes},
          {"before", lesson.before},
          {"settings", settings},
          {"given", input.names},
          {"steps", std::move(steps)},
          {"arrays", std::move(arrays)},
          {"code", std::move(code)},
          {"words", object_of(output.words, [](const std::string& word) { return Json(word); })}};
}

}  // namespace attn::course
