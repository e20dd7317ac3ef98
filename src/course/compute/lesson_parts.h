// course/compute/lesson_parts.h - helpers that several lessons share: random arrays, parts of arrays, figures.
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
LessonArray shape_of(const LessonArray& array);                                // [2, 3] as an array
LessonArray slice(const LessonArray& array, std::int64_t n);                   // array[n]
LessonArray flipped(const LessonArray& matrix);                                // the transpose
LessonArray row_sums(const LessonArray& array);                                // over the last axis
LessonArray sum(const LessonArray& a, const LessonArray& b);                   // equal shapes
double largest_difference(const LessonArray& a, const LessonArray& b);         // equal shapes
// Rounding errors depend on the processor, so a text says "less than 1e-06" instead of the error itself.
double power_of_ten_above(double number);                                          // at least 1e-6
std::vector<std::string> numbered(const std::string& prefix, std::int64_t count);  // "head 0", "head 1" ...

// The numbers of an array as integers. Throws std::invalid_argument unless all are whole and below 2^53.
std::vector<std::int64_t> whole_numbers(const LessonArray& array, const std::string& name);

// The heatmap of a matrix, with the names of its rows and columns.
figure::Heatmap heatmap_of(const LessonArray& matrix, std::string title, figure::Shade shade = {});

// [queries, keys] of one sequence; 1: visible, 0: masked.
LessonArray table_of(const Mask& mask, std::int64_t queries, std::int64_t keys, std::int64_t sequence = 0);
figure::MaskPicture picture_of(const LessonArray& table, std::string title);

}  // namespace attn::course
