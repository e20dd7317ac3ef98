// course/screen.h - lessons in the terminal.
#pragma once

#include <string>

#include "course/course.h"
#include "figure/terminal/terminal.h"

namespace attn::course {

struct OnScreen {
  const figure::Terminal& terminal;
  std::string language = "en";
};

// Title, the one sentence, how long it takes and what to know before.
std::string beginning(const Lesson& lesson, const Script& script, const OnScreen& on);
// A step of a script whose numbers have been filled in.
std::string step_text(const ScriptStep& step, const LessonOutput& output, const OnScreen& on);
// Numbers with the names of rows and columns, the shape and how they were made. Long arrays are cut, and say so.
std::string array_text(const std::string& name, const LessonArray& array, const OnScreen& on);

}  // namespace attn::course
