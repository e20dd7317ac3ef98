// course/json.h - lessons as JSON: lessons/NAME/lesson.json, the output of --json, and what the page receives. Include
// it in .cc files only.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "course/course.h"

namespace attn::course {

using Json = nlohmann::ordered_json;  // only for what the program writes, and its own lesson.json

// Parses a lesson's own file, whose members keep their order.
Json parse_lesson_file(const std::string& text);
// Parses what a reader gives; see base::parse_json(). Throws std::invalid_argument.
nlohmann::json parse_reader_data(const std::string& text);

// Nested lists; null where a number is not finite.
Json to_json(const LessonArray& array);
// Reads nested lists of numbers (null: -infinity). Throws std::invalid_argument if they are ragged or not numbers.
template <typename AnyJson>
LessonArray array_of(const AnyJson& lists, const std::string& name);
// Reads a CSV table; a first row or column that is not numbers becomes the names.
LessonArray array_of_csv(const std::string& csv);

// Copies the arrays, lists of words and texts of an object into `input`: adds new names, or only replaces known ones.
enum class Put : std::uint8_t { any, known };
template <typename AnyJson>
void put(LessonInput& input, const AnyJson& object, Put what);

// {"lessons": [{"name", "title", "line", "minutes", "before"}]}, in the order of the course.
Json list_json(const std::string& language);
// {"name", "numbers": {name: nested lists}, "words": {...}, "measured": {...}}; the last two are omitted if empty.
Json numbers_json(const Lesson& lesson, const LessonOutput& output);
// Everything that the page shows: title, line, minutes, before, settings, steps with blocks, arrays with shapes and
// origin.
Json page_json(const Lesson& lesson, const std::string& language, const LessonInput& input, const LessonOutput& output);

}  // namespace attn::course
