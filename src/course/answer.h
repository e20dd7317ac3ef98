// course/answer.h - a small matrix that the reader has worked out, held against the right one.
#pragma once

#include "course/lesson_output.h"

namespace attn::course {

// Adds one of "answer_none" (nothing but zeros: none was given), "answer_misfit" (another shape), "answer_right" and
// "answer_wrong", for the text to ask for; where it is wrong also "answer_place" [row, column], "answer_has",
// "answer_is" and "answer_misses", how many numbers are wrong. The word "verdict" says the same for who reads JSON. A
// number is right within `tolerance` of the larger of 1 and itself.
void check_answer(LessonOutput& output, const LessonArray& answer, const LessonArray& right, double tolerance = 1e-3);

}  // namespace attn::course
