// course/course.h - the lessons: their texts and data from lessons/, and the functions that compute them.
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

// What a lesson needs to compute.
struct LessonWork {
  ThreadPool& pool;
  base::Progress progress = {};
};
using Compute = LessonOutput (*)(const LessonInput& input, const LessonWork& work);

struct Lesson {
  std::string name;
  std::int64_t minutes = 0;
  std::vector<std::string> before;                                 // lessons that it builds on
  std::map<std::string, Script> scripts;                           // by language
  LessonInput input;                                               // default settings and data
  std::map<std::string, std::map<std::string, std::string>> code;  // by file ("steps.cc", "steps.py") and step
  Compute compute = nullptr;

  [[nodiscard]] LessonOutput tell(const LessonInput& with, const LessonWork& work) const { return compute(with, work); }
};

// All lessons, in the order of the course. Reads them once; throws attn::Error for a malformed built-in file.
const std::vector<Lesson>& lessons();
// Returns null if there is no lesson of this name.
const Lesson* find_lesson(std::string_view name);

// ---- for lessons/NAME/compute.cc ----

// The files of lessons/NAME, which are built into the program.
const base::BuiltInFolder* lesson_files(std::string_view name);

}  // namespace attn::course
