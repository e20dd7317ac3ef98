// course/compute/lesson_parts.h - small things that several lessons need: random arrays, parts of arrays, their
// pictures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/mask.h"
#include "course/array.h"
#include "figure/scene/figure.h"
#include "nn/infer/numpy_random.h"

namespace attn::course {

LessonArray normal(std::vector<std::int64_t> shape, nn::NumpyRandom& random);  // numpy.random.randn(*shape)
LessonArray shape_of(const LessonArray& array);                                // [2, 3]: two numbers
LessonArray slice(const LessonArray& array, std::int64_t n);                   // array[n]
LessonArray flipped(const LessonArray& matrix);                                // rows become columns
LessonArray row_sums(const LessonArray& array);                                // over the last axis
LessonArray sum(const LessonArray& a, const LessonArray& b);                   // of one shape
double largest_difference(const LessonArray& a, const LessonArray& b);         // of arrays of one shape
// How large a rounding error is depends on the processor; a text says "less than 1e-06".
double power_of_ten_above(double number);                                          // at least 1e-6
std::vector<std::string> numbered(const std::string& prefix, std::int64_t count);  // "head 0", "head 1" ...

// Of a matrix, with the names of its rows and columns.
figure::Heatmap heatmap_of(const LessonArray& matrix, std::string title, figure::Shade shade = {});

// 1: may be seen, 0: may not. [queries, keys] of one sequence.
LessonArray table_of(const Mask& mask, std::int64_t queries, std::int64_t keys, std::int64_t sequence = 0);
figure::MaskPicture picture_of(const LessonArray& table, std::string title);

}  // namespace attn::course
