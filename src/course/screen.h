// course/screen.h - prints lessons in the terminal.
#pragma once

#include <string>

#include "course/course.h"
#include "figure/terminal/terminal.h"

namespace attn::course {

struct OnScreen {
  const figure::Terminal& terminal;
  std::string language = "en";
};

// The title, the one-sentence summary, the duration and the lessons it requires.
std::string beginning(const Lesson& lesson, const Script& script, const OnScreen& on);
// One step of a script whose numbers are already filled in.
std::string step_text(const ScriptStep& step, const LessonOutput& output, const OnScreen& on);
// An array with the names of its rows and columns, its shape and its origin. Long arrays are cut, with a note.
std::string array_text(const std::string& name, const LessonArray& array, const OnScreen& on);

}  // namespace attn::course
