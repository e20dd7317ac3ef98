// course/compute/shares.h - rows of weights told in lines of text, a query after the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "course/array.h"

namespace attn::course {

// The keys of a row, the largest weight first; of equal ones the earlier.
std::vector<std::int64_t> by_weight(const LessonArray& weights, std::int64_t row);

// "x1 → x1 0.8200 (82.0%)  x2 0.0262 ( 2.6%)"
std::string percent_lines(const LessonArray& weights);
// The three largest of each row, behind 🎯 👀 📌.
std::string top_lines(const LessonArray& weights);
// A line a weight, the largest first, and behind it `blocks` times the weight in blocks, cut to whole ones.
std::string bar_lines(const LessonArray& weights, std::int64_t blocks);

}  // namespace attn::course
