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

using course::Lesson;
using course::LessonInput;
using course::LessonOutput;
using course::shape_text;

// Texts that name files; requests must not set them.
constexpr const char* kPaths[] = {"model", "data", "column"};
bool is_path(const std::string& name) { return std::ranges::find(kPaths, name) != std::end(kPaths); }

const Lesson& lesson_named(const std::string& name) {
  const Lesson* const found = course::find_lesson(name);
  if (found == nullptr) throw HttpError(404, "there is no lesson '" + name + "'");
  return *found;
}

std::string language_of(const std::string& input) {
  if (std::ranges::find(course::kLanguages, input) == std::end(course::kLanguages))
    throw std::invalid_argument("lang must be en or zh, not '" + input + "'");
  return input;
}

// Bytes that are not UTF-8 (part of a character that a model writes) become U+FFFD.
Response output_response(const course::Json& json) {
  return json_response(200, json.dump(-1, ' ', false, course::Json::error_handler_t::replace) + "\n");
}

// ---- the reader's settings and data ----

const BodyJson& object_at(const BodyJson& body, const char* name) {
  static const BodyJson none = BodyJson::object();
  if (!body.contains(name)) return none;
  if (!body[name].is_object()) throw std::invalid_argument(std::string(name) + " must be an object");
  return body[name];
}

void put_settings(LessonInput& input, const BodyJson& settings) {
  for (const auto& [name, value] : settings.items()) {
    if (!value.is_number()) throw std::invalid_argument(name + " must be a number");
    input.set(name + "=" + value.dump());
  }
}

[[noreturn]] void too_large(const std::string& name, const std::string& most) {
  throw HttpError(413, name + " is too large: at most " + most);
}

void check_text(const std::string& name, std::size_t bytes) {
  if (bytes > kMostLessonText) too_large(name, std::to_string(kMostLessonText) + " bytes of text");
}

// Runs before anything else reads the lists, which may have as many numbers as the body has room for.
void check_lists(const std::string& name, const BodyJson& value) {
  constexpr int kMostAxes = 4;
  int axes = 0;
  std::int64_t numbers = 1;
  for (const BodyJson* part = &value; part->is_array() && !part->empty(); part = &part->front()) {
    numbers *= std::ssize(*part);
    if (++axes > kMostAxes || std::ssize(*part) > kMostLessonSide || numbers > kMostLessonNumbers)
      too_large(name, "64 x 64 numbers");
  }
}

// Data must have the type of the lesson's own data: an array for an array, and so on.
void check_data(const LessonInput& input, const std::string& name, const BodyJson& value) {
  if (is_path(name)) throw HttpError(403, "'" + name + "' cannot be set here, only in the terminal");
  const bool is_text = value.is_string();
  const bool is_list = value.is_array() && !value.empty() && value.front().is_string();
  if (input.texts.contains(name) != is_text || input.lists.contains(name) != is_list)
    throw std::invalid_argument(name + (input.texts.contains(name)   ? " must be a string"
                                        : input.lists.contains(name) ? " must be a list of words"
                                                                     : " must be numbers in lists of equal length"));
  if (is_text) return check_text(name, value.get_ref<const std::string&>().size());
  check_lists(name, value);
  if (!is_list) return;
  std::size_t bytes = 0;
  for (const BodyJson& word : value) bytes += word.is_string() ? word.get_ref<const std::string&>().size() : 0;
  check_text(name, bytes);
}

void put_data(LessonInput& input, const BodyJson& data) {
  for (const auto& [name, value] : data.items())
    if (std::ranges::find(input.names, name) != input.names.end()) check_data(input, name, value);
  course::put(input, data, course::Put::known);
}

LessonInput reader_input(const Lesson& of, const BodyJson& body) {
  LessonInput input = of.input;
  put_settings(input, object_at(body, "settings"));
  put_data(input, object_at(body, "data"));
  return input;
}

// ---- the lesson ----

LessonOutput computed_output(RecordingStore& store, const RoutedRequest& request, const Lesson& of,
                             const LessonInput& input) {
  const RecordingStore::Turn turn(store);
  const auto pool = store.pool();
  return of.tell(input, {.pool = *pool, .progress = request.progress("text")});
}

course::Json data_json(const LessonInput& input) {
  course::Json out = course::Json::object();
  for (const std::string& name : input.names) {
    if (is_path(name)) continue;
    if (const auto text = input.texts.find(name); text != input.texts.end()) out[name] = text->second;
    if (const auto list = input.lists.find(name); list != input.lists.end()) out[name] = list->second;
    if (const auto array = input.arrays.find(name); array != input.arrays.end()) out[name] = to_json(array->second);
  }
  return out;
}

course::Json figures_json(const LessonOutput& output) {
  course::Json out = course::Json::object();
  for (const auto& [name, picture] : output.figures)
    out[name] = figure::draw(picture, figure::Output{.format = figure::Format::svg});
  return out;
}

// Limits layer and head settings to the model. Lessons on the page use the built-in models, which have fewer layers
// than a model that the user may choose in the terminal.
void fit_settings(course::Json& settings, const model::Facts& facts) {
  const bool decodes = facts.decoder_layers > 0;
  const std::pair<const char*, std::int64_t> counts[] = {
      {"layer", decodes ? facts.decoder_layers : facts.layers},
      {"head", decodes ? facts.decoder_heads.heads : facts.heads.heads}};
  for (course::Json& setting : settings) {
    for (const auto& [name, count] : counts) {
      if (setting["name"] != name) continue;
      setting["most"] = std::min(setting["most"].get<double>(), static_cast<double>(count - 1));
      setting["value"] = std::min(setting["value"].get<double>(), setting["most"].get<double>());
    }
  }
}

Response page_response(RecordingStore& store, const RoutedRequest& request, const Lesson& of, const BodyJson& body) {
  const std::string language = language_of(body.value("lang", "en"));
  const LessonInput input = reader_input(of, body);
  const LessonOutput output = computed_output(store, request, of, input);
  course::Json json = page_json(of, language, input, output);
  if (const auto model = input.texts.find("model"); model != input.texts.end() && store.models().has(model->second))
    fit_settings(json["settings"], store.models().card(model->second).facts);
  json["data"] = data_json(input);
  json["figures"] = figures_json(output);
  return output_response(json);
}

// ---- answers ----

const course::ScriptBlock& request_at(const course::Script& script, const BodyJson& body) {
  const std::string id = body.value("step", "");
  const auto step = std::ranges::find(script.steps, id, &course::ScriptStep::id);
  if (step == script.steps.end()) throw std::invalid_argument("the lesson has no step '" + id + "'");
  std::int64_t left = body.value("question", std::int64_t{0});
  for (const course::ScriptBlock& block : step->blocks)
    if (block.what == course::ScriptBlock::What::question && left-- == 0 && !block.answer.empty()) return block;
  throw std::invalid_argument("step '" + id + "' has no such question");
}

course::Json checked_number(double input, const course::ScriptBlock& question, const LessonOutput& output) {
  const double right = number_at(question.answer, output);
  return {{"right", std::abs(input - right) <= question.tolerance}, {"number", right}, {"off_by", input - right}};
}

// Checks an answer that is a whole array, the one that the expected number is in.
course::Json checked_array(const BodyJson& lists, const course::ScriptBlock& question, const LessonOutput& output) {
  check_lists("answer", lists);
  const course::LessonArray input = course::array_of(lists, "answer");
  const course::LessonArray* const right = output.arrays.find(question.answer.substr(0, question.answer.find('[')));
  if (right == nullptr || right->shape != input.shape)
    throw std::invalid_argument("the answer is " + shape_text(input.shape) + "; expected " +
                                (right == nullptr ? "one number" : shape_text(right->shape)));
  double off_by = 0;
  for (std::size_t n = 0; n < input.numbers.size(); ++n)
    if (const double miss = input.numbers[n] - right->numbers[n]; !(std::abs(miss) <= std::abs(off_by))) off_by = miss;
  return {{"right", std::abs(off_by) <= question.tolerance}, {"number", to_json(*right)}, {"off_by", off_by}};
}

BodyJson body_of(const RoutedRequest& request, std::initializer_list<const char*> members) {
  BodyJson body = parse_object(request.body);
  allow_members(body, members, "a lesson");
  for (const char* const text : {"lang", "step"})
    if (body.contains(text) && !body[text].is_string())
      throw std::invalid_argument(std::string(text) + " must be a string");
  if (body.contains("question") && !body["question"].is_number_integer())
    throw std::invalid_argument("question must be a whole number");
  return body;
}

}  // namespace

Response list_lessons(RecordingStore& store, const RoutedRequest& request) {
  static_cast<void>(store);
  request.allow({"lang"});
  return output_response(course::list_json(language_of(request.text("lang").value_or("en"))));
}

Response show_lesson(RecordingStore& store, const RoutedRequest& request) {
  const Lesson& of = lesson_named(request.segment);
  if (request.method == "POST") {
    request.allow({});
    return page_response(store, request, of, body_of(request, {"lang", "settings", "data"}));
  }
  request.allow({"lang"});
  return page_response(store, request, of, {{"lang", request.text("lang").value_or("en")}});
}

Response check_lesson(RecordingStore& store, const RoutedRequest& request) {
  request.allow({});
  const Lesson& of = lesson_named(request.segment);
  const BodyJson body = body_of(request, {"lang", "step", "question", "answer", "settings", "data"});
  const std::string language = language_of(body.value("lang", "en"));
  const BodyJson answer = body.contains("answer") ? body["answer"] : BodyJson();
  if (!answer.is_number() && !answer.is_array())
    throw std::invalid_argument("answer must be a number, or numbers in lists of equal length");
  const LessonOutput output = computed_output(store, request, of, reader_input(of, body));
  const course::Script script = filled(of.scripts.at(language), output);
  const course::ScriptBlock& question = request_at(script, body);
  const course::Json json = answer.is_number() ? checked_number(answer.get<double>(), question, output)
                                               : checked_array(answer, question, output);
  return output_response(json);
}

}  // namespace attn::server
