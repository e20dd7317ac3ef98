// course/compute/attend.h - attention with every step kept: products in double precision, weights and output by the
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
    const LessonArray& scores);  // as it is defined, in double precision: what the engine is held against

struct LessonAttention {
  LessonArray scores;   // Q K^T
  LessonArray scaled;   // the same times the scale
  LessonArray weights;  // [N, M]
  LessonArray result;   // [N, E]
};

struct How {
  std::optional<double> scale = std::nullopt;  // none: 1 / sqrt(D)
  Mask mask = {};
};

// Q [N, D], K [M, D], V [M, E]. Throws std::invalid_argument where they do not fit, with their shapes.
LessonAttention attend(const LessonArray& q, const LessonArray& k, const LessonArray& v, const How& how,
                       ThreadPool& pool);

// Many tables at once: q, k, v [B, N, D] or [B, H, N, D], and what comes out has as many axes.
struct AttendedMany {
  LessonArray weights;  // [B, N, M] or [B, H, N, M]
  LessonArray result;   // [B, N, E] or [B, H, N, E]
};
AttendedMany attend_many(const LessonArray& q, const LessonArray& k, const LessonArray& v, const Options& options,
                         ThreadPool& pool);

// A row of numbers cut into heads, and back: [N, H D] to [H, N, D], [B, N, H D] to [B, H, N, D]. split_heads throws
// std::invalid_argument with both numbers where the width is not a multiple of heads.
LessonArray split_heads(const LessonArray& joined, std::int64_t heads);
LessonArray join_heads(const LessonArray& split);

// Adds the four as "scores", "scaled", "weights", "output", with `prefix` in front, named and with what they were made
// from: `q`, `k` and `v` are the names of these.
struct Names {
  std::string q = "Q", k = "K", v = "V", prefix = {};
  std::vector<std::string> queries = {}, keys = {};
};
void add(LessonOutput& output, LessonAttention attended, const Names& names);

}  // namespace attn::course
