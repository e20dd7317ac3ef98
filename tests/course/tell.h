// tests/course/tell.h - computes a lesson with a reader's settings and data.
#pragma once

#include <string>
#include <vector>

#include "course/course.h"

namespace attn::course {

inline LessonOutput tell_input(const std::string& name, const LessonInput& input) {
  ThreadPool pool(2);
  return find_lesson(name)->tell(input, {.pool = pool});
}

inline LessonOutput tell(const std::string& name, const std::vector<std::string>& settings = {},
                         const std::string& json = {}) {
  LessonInput input = find_lesson(name)->input;
  for (const std::string& one : settings) input.set(one);
  if (!json.empty()) input.read(json);
  return tell_input(name, input);
}

inline const LessonArray& array(const LessonOutput& output, const std::string& name) {
  return *output.arrays.find(name);
}
inline double number(const LessonOutput& output, const std::string& name) { return array(output, name).numbers.at(0); }

}  // namespace attn::course
