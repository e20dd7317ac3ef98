// course/compute/shares.h - prints rows of weights as text, query by query.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "course/array.h"

namespace attn::course {

// The keys of a row, the largest weight first; ties in order of the keys.
std::vector<std::int64_t> by_weight(const LessonArray& weights, std::int64_t row);

// "x1 → x1 0.8200 (82.0%)  x2 0.0262 ( 2.6%)"
std::string percent_lines(const LessonArray& weights);
// The three largest weights of each row, marked 🎯 👀 📌.
std::string top_lines(const LessonArray& weights);
// One line per weight, the largest first, each with a bar of floor(`blocks` times the weight) block characters.
std::string bar_lines(const LessonArray& weights, std::int64_t blocks);

}  // namespace attn::course
