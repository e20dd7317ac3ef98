// course/answer.h - compares a small matrix that the reader computed with the right one.
#pragma once

#include "course/lesson_output.h"

namespace attn::course {

// Adds one of the words "answer_none" (all zeros: no answer yet), "answer_misfit" (another shape), "answer_right" and
// "answer_wrong", which the lesson's text tests for. A wrong answer also adds the arrays "answer_place" [row, column]
// of the first wrong number, "answer_has", "answer_is", and "answer_misses", the count of wrong numbers. The word
// "verdict" says the same in a sentence, for JSON. A number x is right within `tolerance` times max(1, |x|).
void check_answer(LessonOutput& output, const LessonArray& answer, const LessonArray& right, double tolerance = 1e-3);

}  // namespace attn::course
