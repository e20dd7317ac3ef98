// course/compute/attend.h - attention that keeps every step: products in double precision, weights and output from the
// engine.
#pragma once

#include <optional>
#include <string>

#include "attn/attention.h"
#include "attn/mask.h"
#include "attn/thread_pool.h"
#include "course/lesson_output.h"

namespace attn::course {

LessonArray product(const LessonArray& a, const LessonArray& b);     // a b
LessonArray transposed(const LessonArray& a, const LessonArray& b);  // a b^T
LessonArray times(const LessonArray& a, double factor);
LessonArray softmax_rows(
    const LessonArray& scores);  // by the definition, in double precision: a reference for the engine

struct LessonAttention {
  LessonArray scores;   // Q K^T
  LessonArray scaled;   // scores times the scale
  LessonArray weights;  // [N, M]
  LessonArray result;   // [N, E]
};

struct How {
  std::optional<double> scale = std::nullopt;  // default: 1 / sqrt(D)
  Mask mask = {};
};

// Q [N, D], K [M, D], V [M, E]. Throws std::invalid_argument with the shapes if they do not fit.
LessonAttention attend(const LessonArray& q, const LessonArray& k, const LessonArray& v, const How& how,
                       ThreadPool& pool);

// Batched attention: q, k, v are [B, N, D] or [B, H, N, D], and the results have as many axes.
struct AttendedMany {
  LessonArray weights;  // [B, N, M] or [B, H, N, M]
  LessonArray result;   // [B, N, E] or [B, H, N, E]
};
AttendedMany attend_many(const LessonArray& q, const LessonArray& k, const LessonArray& v, const Options& options,
                         ThreadPool& pool);

// Split rows into heads, [N, H D] to [H, N, D] or [B, N, H D] to [B, H, N, D], and merge them again. split_heads throws
// std::invalid_argument with both numbers if the width is not a multiple of `heads`.
LessonArray split_heads(const LessonArray& joined, std::int64_t heads);
LessonArray join_heads(const LessonArray& split);

// Adds the four arrays as "scores", "scaled", "weights" and "output", each name prefixed with `prefix`, with row and
// column names and their origin. `q`, `k` and `v` are the names of the arrays that they were computed from.
struct Names {
  std::string q = "Q", k = "K", v = "V", prefix = {};
  std::vector<std::string> queries = {}, keys = {};
};
void add(LessonOutput& output, LessonAttention attended, const Names& names);

}  // namespace attn::course
