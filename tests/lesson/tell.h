// lesson/tell.h - a lesson computed with a reader's settings and data.
#pragma once

#include <string>
#include <vector>

#include "lesson/course.h"

namespace attn::lesson {

inline Told tell(const std::string& name, const std::vector<std::string>& settings = {}, const std::string& json = {}) {
  const Lesson& lesson = *find_lesson(name);
  Given given = lesson.given;
  for (const std::string& one : settings) given.set(one);
  if (!json.empty()) given.read(json);
  ThreadPool pool(2);
  return lesson.tell(given, {.pool = pool});
}

inline const Array& array(const Told& told, const std::string& name) { return *told.arrays.find(name); }
inline double number(const Told& told, const std::string& name) { return array(told, name).numbers.at(0); }

}  // namespace attn::lesson
