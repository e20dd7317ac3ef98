// tests/course/tell.h - a lesson computed with a reader's settings and data.
#pragma once

#include <string>
#include <vector>

#include "course/course.h"

namespace attn::lesson {

inline Told tell_given(const std::string& name, const Given& given) {
  ThreadPool pool(2);
  return find_lesson(name)->tell(given, {.pool = pool});
}

inline Told tell(const std::string& name, const std::vector<std::string>& settings = {}, const std::string& json = {}) {
  Given given = find_lesson(name)->given;
  for (const std::string& one : settings) given.set(one);
  if (!json.empty()) given.read(json);
  return tell_given(name, given);
}

inline const Array& array(const Told& told, const std::string& name) { return *told.arrays.find(name); }
inline double number(const Told& told, const std::string& name) { return array(told, name).numbers.at(0); }

}  // namespace attn::lesson
