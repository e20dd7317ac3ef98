// lessons/deep-ml-94/compute.cc - the published exercise on multi-head attention, and the reader's answer to it.
#include "course/answer.h"
#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/compute/model_look.h"
#include "course/course.h"

namespace attn::course {

namespace {

struct Projections {
  LessonArray q, k, v;

  // X times the three matrices whose names end in `suffix`.
  Projections(const LessonInput& input, const std::string& suffix)
      : q(product(input.array("X" + suffix), input.array("W_q" + suffix))),
        k(product(input.array("X" + suffix), input.array("W_k" + suffix))),
        v(product(input.array("X" + suffix), input.array("W_v" + suffix))) {}

  [[nodiscard]] AttendedMany solved(std::int64_t heads, const Options& options, ThreadPool& pool) const {
    return attend_many(split_heads(q, heads), split_heads(k, heads), split_heads(v, heads), options, pool);
  }
  [[nodiscard]] LessonArray result(std::int64_t heads, const Options& options, ThreadPool& pool) const {
    return join_heads(solved(heads, options, pool).result);
  }
};

Options unscaled() {
  Options options;
  options.scale = 1.0F;
  return options;
}

void add_first(LessonOutput& output, const LessonInput& input, ThreadPool& pool) {
  const std::int64_t heads = input.whole("heads");
  const Projections problem(input, "");
  for (const char* name : {"X", "W_q", "W_k", "W_v"}) output.arrays.add(name, input.array(name));
  output.arrays.add("Q", LessonArray(problem.q).from({MadeFrom::By::product, "X", "W_q"}));
  output.arrays.add("K", LessonArray(problem.k).from({MadeFrom::By::product, "X", "W_k"}));
  output.arrays.add("V", LessonArray(problem.v).from({MadeFrom::By::product, "X", "W_v"}));
  const LessonArray q = split_heads(problem.q, heads), k = split_heads(problem.k, heads);
  const LessonArray scores = transposed(slice(q, 0), slice(k, 0));
  AttendedMany found = problem.solved(heads, {}, pool);
  output.arrays.add("heads", LessonArray::scalar(static_cast<double>(heads)));
  output.arrays.add("Q_heads", q);
  output.arrays.add("scores_0", scores);
  output.arrays.add("weights", std::move(found.weights));
  output.arrays.add("head_outputs", found.result);
  output.arrays.add("output", join_heads(found.result));
  output.figures.add("heads_map", blue_grid(*output.arrays.find("weights"), "Heads"));
  output.arrays.add("unscaled_output", problem.result(heads, unscaled(), pool));
}

// X divided by 20, so that scores are small enough for the scale to matter.
void add_calm(LessonOutput& output, const LessonInput& input, ThreadPool& pool) {
  LessonInput less = input;
  less.arrays["X"] = times(input.array("X"), 1.0 / 20);
  const Projections problem(less, "");
  output.arrays.add("calm_output", problem.result(input.whole("heads"), {}, pool));
  output.arrays.add("calm_unscaled", problem.result(input.whole("heads"), unscaled(), pool));
}

}  // namespace

LessonOutput deep_ml_94(const LessonInput& input, const LessonWork& work) {
  LessonOutput output;
  add_first(output, input, work.pool);
  add_calm(output, input, work.pool);
  const Projections second(input, "_6");
  output.arrays.add("X_6", input.array("X_6"));
  output.arrays.add("output_4_heads", second.result(4, {}, work.pool));
  output.arrays.add("output_2_heads", second.result(2, {}, work.pool));
  const LessonArray result = *output.arrays.find("output");
  check_answer(output, input.array("answer"), result);
  return output;
}

}  // namespace attn::course
