// course/json.h - lessons as JSON: what lessons/NAME/lesson.json says, what --json prints and what the page is told.
// For .cc files only.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "course/course.h"

namespace attn::course {

using Json = nlohmann::ordered_json;

// Throws std::invalid_argument that says where the text is no JSON.
Json parsed(const std::string& text);

// Nested lists; null where a number is not finite.
Json to_json(const LessonArray& array);
// From nested lists of numbers (null: -infinity). Throws std::invalid_argument where they are ragged or no numbers.
LessonArray array_of(const Json& lists, const std::string& name);
// A table of numbers; a first row and a first column of names are known by not being numbers.
LessonArray array_of_csv(const std::string& csv);

// Arrays, lists of words and texts of an object, into `given`: new ones, or only in the place of what is known.
enum class Put : std::uint8_t { any, known };
void put(LessonInput& input, const Json& object, Put what);

// {"lessons": [{"name", "title", "line", "minutes", "before"}]}, in the order of the course.
Json list_json(const std::string& language);
// {"name", "numbers": {name: nested lists}, "words": {...}, "measured": {...}}; without the last two where there are
// none.
Json numbers_json(const Lesson& lesson, const LessonOutput& output);
// All that the page shows: title, line, minutes, before, settings, steps with blocks, arrays with shapes and how they
// were made.
Json page_json(const Lesson& lesson, const std::string& language, const LessonInput& input, const LessonOutput& output);

}  // namespace attn::course
