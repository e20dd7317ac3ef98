// lessons/deep-ml-94/compute.cc - the published exercise on multi-head attention, and the reader's answer to it.
#include "course/answer.h"
#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/compute/model_look.h"
#include "course/course.h"

namespace attn::lesson {

namespace {

struct Projections {
  Array q, k, v;

  // X times the three tables whose names end in `suffix`.
  Projections(const Given& given, const std::string& suffix)
      : q(product(given.array("X" + suffix), given.array("W_q" + suffix))),
        k(product(given.array("X" + suffix), given.array("W_k" + suffix))),
        v(product(given.array("X" + suffix), given.array("W_v" + suffix))) {}

  [[nodiscard]] AttendedMany solved(std::int64_t heads, const Options& options, ThreadPool& pool) const {
    return attend_many(split_heads(q, heads), split_heads(k, heads), split_heads(v, heads), options, pool);
  }
  [[nodiscard]] Array output(std::int64_t heads, const Options& options, ThreadPool& pool) const {
    return join_heads(solved(heads, options, pool).output);
  }
};

Options unscaled() {
  Options options;
  options.scale = 1.0F;
  return options;
}

void add_first(Told& told, const Given& given, ThreadPool& pool) {
  const std::int64_t heads = given.whole("heads");
  const Projections problem(given, "");
  for (const char* name : {"X", "W_q", "W_k", "W_v"}) told.arrays.add(name, given.array(name));
  told.arrays.add("Q", Array(problem.q).from({Made::By::product, "X", "W_q"}));
  told.arrays.add("K", Array(problem.k).from({Made::By::product, "X", "W_k"}));
  told.arrays.add("V", Array(problem.v).from({Made::By::product, "X", "W_v"}));
  const Array q = split_heads(problem.q, heads), k = split_heads(problem.k, heads);
  const Array scores = transposed(slice(q, 0), slice(k, 0));
  AttendedMany found = problem.solved(heads, {}, pool);
  told.arrays.add("heads", Array::scalar(static_cast<double>(heads)));
  told.arrays.add("Q_heads", q);
  told.arrays.add("scores_0", scores);
  told.arrays.add("weights", std::move(found.weights));
  told.arrays.add("head_outputs", found.output);
  told.arrays.add("output", join_heads(found.output));
  told.figures.add("heads_map", blue_grid(*told.arrays.find("weights"), "Heads"));
  told.arrays.add("unscaled_output", problem.output(heads, unscaled(), pool));
}

// X a twentieth as large: scores are small enough for the scale to matter.
void add_calm(Told& told, const Given& given, ThreadPool& pool) {
  Given less = given;
  less.arrays["X"] = times(given.array("X"), 1.0 / 20);
  const Projections problem(less, "");
  told.arrays.add("calm_output", problem.output(given.whole("heads"), {}, pool));
  told.arrays.add("calm_unscaled", problem.output(given.whole("heads"), unscaled(), pool));
}

}  // namespace

Told deep_ml_94(const Given& given, const Work& work) {
  Told told;
  add_first(told, given, work.pool);
  add_calm(told, given, work.pool);
  const Projections second(given, "_6");
  told.arrays.add("X_6", given.array("X_6"));
  told.arrays.add("output_4_heads", second.output(4, {}, work.pool));
  told.arrays.add("output_2_heads", second.output(2, {}, work.pool));
  const Array output = *told.arrays.find("output");
  check_answer(told, given.array("answer"), output);
  return told;
}

}  // namespace attn::lesson
