#include "server/routes/course.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "course/json.h"
#include "figure/scene/figure.h"
#include "insight/io/json.h"
#include "server/routes/record_request_json.h"

namespace attn::server {

namespace {

using lesson::Given;
using lesson::Lesson;
using lesson::shape_text;
using lesson::Told;

// Texts that name files, which no request may.
constexpr const char* kPaths[] = {"model", "data", "column"};
bool is_path(const std::string& name) { return std::ranges::find(kPaths, name) != std::end(kPaths); }

const Lesson& lesson_named(const std::string& name) {
  const Lesson* const found = lesson::find_lesson(name);
  if (found == nullptr) throw Refused(404, "there is no lesson '" + name + "'");
  return *found;
}

std::string language_of(const std::string& given) {
  if (std::ranges::find(lesson::kLanguages, given) == std::end(lesson::kLanguages))
    throw std::invalid_argument("lang must be en or zh, not '" + given + "'");
  return given;
}

// Bytes that are not UTF-8 (a part of a character that a model writes) become U+FFFD.
Answer told_answer(const lesson::Json& json) {
  return json_answer(200, json.dump(-1, ' ', false, lesson::Json::error_handler_t::replace) + "\n");
}

// ---- what the reader gives ----

const lesson::Json& object_at(const lesson::Json& body, const char* name) {
  static const lesson::Json none = lesson::Json::object();
  if (!body.contains(name)) return none;
  if (!body[name].is_object()) throw std::invalid_argument(std::string(name) + " must be an object");
  return body[name];
}

void put_settings(Given& given, const lesson::Json& settings) {
  for (const auto& [name, value] : settings.items()) {
    if (!value.is_number()) throw std::invalid_argument(name + " must be a number");
    given.set(name + "=" + value.dump());
  }
}

[[noreturn]] void too_large(const std::string& name, const std::string& most) {
  throw Refused(413, name + " is too large: at most " + most);
}

void check_text(const std::string& name, std::size_t bytes) {
  if (bytes > kMostLessonText) too_large(name, std::to_string(kMostLessonText) + " bytes of text");
}

// Before anything is made of it: lists may be nested as deeply as a body is long.
void check_lists(const std::string& name, const lesson::Json& value) {
  constexpr int kMostAxes = 4;
  int axes = 0;
  std::int64_t numbers = 1;
  for (const lesson::Json* part = &value; part->is_array() && !part->empty(); part = &part->front()) {
    numbers *= std::ssize(*part);
    if (++axes > kMostAxes || std::ssize(*part) > kMostLessonSide || numbers > kMostLessonNumbers)
      too_large(name, "64 x 64 numbers");
  }
}

// Where the lesson has an array, an array is wanted; and so on.
void check_data(const Given& given, const std::string& name, const lesson::Json& value) {
  if (is_path(name)) throw Refused(403, "'" + name + "' cannot be given here, only in the terminal");
  const bool is_text = value.is_string();
  const bool is_list = value.is_array() && !value.empty() && value.front().is_string();
  if (given.texts.contains(name) != is_text || given.lists.contains(name) != is_list)
    throw std::invalid_argument(name + (given.texts.contains(name)   ? " must be a text"
                                        : given.lists.contains(name) ? " must be a list of words"
                                                                     : " must be numbers in lists of equal length"));
  if (is_text) return check_text(name, value.get_ref<const std::string&>().size());
  check_lists(name, value);
  if (!is_list) return;
  std::size_t bytes = 0;
  for (const lesson::Json& word : value) bytes += word.is_string() ? word.get_ref<const std::string&>().size() : 0;
  check_text(name, bytes);
}

void put_data(Given& given, const lesson::Json& data) {
  for (const auto& [name, value] : data.items())
    if (std::ranges::find(given.names, name) != given.names.end()) check_data(given, name, value);
  lesson::put(given, data, lesson::Put::known);
}

Given given_by(const Lesson& of, const lesson::Json& body) {
  Given given = of.given;
  put_settings(given, object_at(body, "settings"));
  put_data(given, object_at(body, "data"));
  return given;
}

// ---- what is told ----

Told told_by(Desk& desk, const Question& asked, const Lesson& of, const Given& given) {
  const Desk::Turn turn(desk);
  const auto pool = desk.pool();
  return of.tell(given, {.pool = *pool, .progress = asked.progress("text")});
}

lesson::Json data_json(const Given& given) {
  lesson::Json out = lesson::Json::object();
  for (const std::string& name : given.names) {
    if (is_path(name)) continue;
    if (const auto text = given.texts.find(name); text != given.texts.end()) out[name] = text->second;
    if (const auto list = given.lists.find(name); list != given.lists.end()) out[name] = list->second;
    if (const auto array = given.arrays.find(name); array != given.arrays.end()) out[name] = to_json(array->second);
  }
  return out;
}

lesson::Json figures_json(const Told& told) {
  lesson::Json out = lesson::Json::object();
  for (const auto& [name, picture] : told.figures)
    out[name] = figure::draw(picture, figure::Output{.format = figure::Format::svg});
  return out;
}

// The page's lessons look at the models that are built in, which have fewer layers than one that the terminal may be
// given: what is not there cannot be set.
void fit_settings(lesson::Json& settings, const model::Facts& facts) {
  const bool decodes = facts.decoder_layers > 0;
  const std::pair<const char*, std::int64_t> counts[] = {
      {"layer", decodes ? facts.decoder_layers : facts.layers},
      {"head", decodes ? facts.decoder_heads.heads : facts.heads.heads}};
  for (lesson::Json& setting : settings) {
    for (const auto& [name, count] : counts) {
      if (setting["name"] != name) continue;
      setting["most"] = std::min(setting["most"].get<double>(), static_cast<double>(count - 1));
      setting["value"] = std::min(setting["value"].get<double>(), setting["most"].get<double>());
    }
  }
}

Answer page_answer(Desk& desk, const Question& asked, const Lesson& of, const lesson::Json& body) {
  const std::string language = language_of(body.value("lang", "en"));
  const Given given = given_by(of, body);
  const Told told = told_by(desk, asked, of, given);
  lesson::Json json = page_json(of, language, given, told);
  if (const auto model = given.texts.find("model"); model != given.texts.end() && desk.models().has(model->second))
    fit_settings(json["settings"], desk.models().card(model->second).facts);
  json["data"] = data_json(given);
  json["figures"] = figures_json(told);
  return told_answer(json);
}

// ---- answers ----

const lesson::Block& question_at(const lesson::Script& script, const lesson::Json& body) {
  const std::string id = body.value("step", "");
  const auto step = std::ranges::find(script.steps, id, &lesson::Step::id);
  if (step == script.steps.end()) throw std::invalid_argument("the lesson has no step '" + id + "'");
  std::int64_t left = body.value("question", std::int64_t{0});
  for (const lesson::Block& block : step->blocks)
    if (block.what == lesson::Block::What::question && left-- == 0 && !block.answer.empty()) return block;
  throw std::invalid_argument("step '" + id + "' has no such question");
}

lesson::Json checked_number(double given, const lesson::Block& question, const Told& told) {
  const double right = number_at(question.answer, told);
  return {{"right", std::abs(given - right) <= question.tolerance}, {"number", right}, {"off_by", given - right}};
}

// All of the array in which the answer stands.
lesson::Json checked_array(const lesson::Json& lists, const lesson::Block& question, const Told& told) {
  check_lists("answer", lists);
  const lesson::Array given = lesson::array_of(lists, "answer");
  const lesson::Array* const right = told.arrays.find(question.answer.substr(0, question.answer.find('[')));
  if (right == nullptr || right->shape != given.shape)
    throw std::invalid_argument("the answer is " + shape_text(given.shape) + "; wanted is " +
                                (right == nullptr ? "one number" : shape_text(right->shape)));
  double off_by = 0;
  for (std::size_t n = 0; n < given.numbers.size(); ++n)
    if (const double miss = given.numbers[n] - right->numbers[n]; !(std::abs(miss) <= std::abs(off_by))) off_by = miss;
  return {{"right", std::abs(off_by) <= question.tolerance}, {"number", to_json(*right)}, {"off_by", off_by}};
}

lesson::Json body_of(const Question& asked, std::initializer_list<const char*> members) {
  allow_members(parse_object(asked.body), members, "a lesson");
  const lesson::Json body = lesson::parsed(asked.body);  // in double precision
  for (const char* const text : {"lang", "step"})
    if (body.contains(text) && !body[text].is_string())
      throw std::invalid_argument(std::string(text) + " must be text");
  if (body.contains("question") && !body["question"].is_number_integer())
    throw std::invalid_argument("question must be a whole number");
  return body;
}

}  // namespace

Answer list_lessons(Desk& desk, const Question& asked) {
  static_cast<void>(desk);
  asked.allow({"lang"});
  return told_answer(lesson::list_json(language_of(asked.text("lang").value_or("en"))));
}

Answer tell_lesson(Desk& desk, const Question& asked) {
  const Lesson& of = lesson_named(asked.lesson);
  if (asked.method == "POST") {
    asked.allow({});
    return page_answer(desk, asked, of, body_of(asked, {"lang", "settings", "data"}));
  }
  asked.allow({"lang"});
  return page_answer(desk, asked, of, {{"lang", asked.text("lang").value_or("en")}});
}

Answer check_lesson(Desk& desk, const Question& asked) {
  asked.allow({});
  const Lesson& of = lesson_named(asked.lesson);
  const lesson::Json body = body_of(asked, {"lang", "step", "question", "answer", "settings", "data"});
  const std::string language = language_of(body.value("lang", "en"));
  const lesson::Json answer = body.contains("answer") ? body["answer"] : lesson::Json();
  if (!answer.is_number() && !answer.is_array())
    throw std::invalid_argument("answer must be a number, or numbers in lists of equal length");
  const Told told = told_by(desk, asked, of, given_by(of, body));
  const lesson::Script script = filled(of.scripts.at(language), told);
  const lesson::Block& question = question_at(script, body);
  const lesson::Json json =
      answer.is_number() ? checked_number(answer.get<double>(), question, told) : checked_array(answer, question, told);
  return told_answer(json);
}

}  // namespace attn::server
