// course/course.h - the lessons: their texts and data (lessons/), and what each of them computes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/thread_pool.h"
#include "base/folder.h"
#include "base/progress.h"
#include "course/lesson_input.h"
#include "course/lesson_output.h"
#include "course/script.h"

namespace attn::course {

inline constexpr std::string_view kLanguages[] = {"en", "zh"};

// What a lesson is computed with.
struct LessonWork {
  ThreadPool& pool;
  base::Progress progress = {};
};
using Compute = LessonOutput (*)(const LessonInput& input, const LessonWork& work);

struct Lesson {
  std::string name;
  std::int64_t minutes = 0;
  std::vector<std::string> before;                                 // lessons to know
  std::map<std::string, Script> scripts;                           // by language
  LessonInput input;                                               // its own data
  std::map<std::string, std::map<std::string, std::string>> code;  // by file ("steps.cc", "steps.py") and step
  Compute compute = nullptr;

  [[nodiscard]] LessonOutput tell(const LessonInput& with, const LessonWork& work) const { return compute(with, work); }
};

// All, in the order of the course. Read once; throws attn::Error where a built-in file is not right.
const std::vector<Lesson>& lessons();
// Null: there is none of this name.
const Lesson* find_lesson(std::string_view name);

// ---- for the lessons' own files ----

// The files of lessons/NAME that lie in the program.
const base::BuiltInFolder* lesson_files(std::string_view name);

}  // namespace attn::course
