#include "course/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attn::course {

void check_answer(LessonOutput& output, const LessonArray& answer, const LessonArray& right, double tolerance) {
  const auto say = [&](const char* flag, std::string verdict) {
    output.arrays.add(flag, LessonArray::scalar(1));
    output.words.add("verdict", std::move(verdict));
  };
  output.arrays.add("answer", answer);
  if (std::ranges::all_of(answer.numbers, [](double number) { return number == 0; }))
    return say("answer_none", "no answer yet");
  if (answer.shape != right.shape)
    return say("answer_misfit", fmt::format("has shape {}, not {}", shape_text(answer.shape), shape_text(right.shape)));
  std::vector<std::size_t> wrong;
  for (std::size_t n = 0; n < right.numbers.size(); ++n) {
    const double room = tolerance * std::max(1.0, std::abs(right.numbers[n]));
    if (!(std::abs(answer.numbers[n] - right.numbers[n]) <= room)) wrong.push_back(n);
  }
  if (wrong.empty()) return say("answer_right", "right");
  const auto width = static_cast<std::size_t>(right.width());
  const std::size_t row = wrong[0] / width, column = wrong[0] % width;
  const double has = answer.numbers[wrong[0]], is = right.numbers[wrong[0]];
  output.arrays.add("answer_place", LessonArray::vector({static_cast<double>(row), static_cast<double>(column)}));
  output.arrays.add("answer_has", LessonArray::scalar(has));
  output.arrays.add("answer_is", LessonArray::scalar(is));
  output.arrays.add("answer_misses", LessonArray::scalar(static_cast<double>(wrong.size())));
  say("answer_wrong", fmt::format("{} of {} numbers differ, the first at [{}, {}]: {:.6g} instead of {:.6g}",
                                  wrong.size(), right.numbers.size(), row, column, has, is));
}

}  // namespace attn::course
