// lessons/deep-ml-53/compute.cc - the published exercise on self-attention, and the reader's answer to it.
#include "course/answer.h"
#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/course.h"

namespace attn::course {

LessonOutput deep_ml_53(const LessonInput& input, const LessonWork& work) {
  LessonOutput output;
  const LessonArray& x = input.array("X");
  for (const char* name : {"X", "W_q", "W_k", "W_v"}) output.arrays.add(name, input.array(name));
  const LessonArray q = product(x, input.array("W_q")), k = product(x, input.array("W_k")),
                    v = product(x, input.array("W_v"));
  output.arrays.add("Q", LessonArray(q).from({MadeFrom::By::product, "X", "W_q"}));
  output.arrays.add("K", LessonArray(k).from({MadeFrom::By::product, "X", "W_k"}));
  output.arrays.add("V", LessonArray(v).from({MadeFrom::By::product, "X", "W_v"}));
  add(output, attend(q, k, v, {}, work.pool), {});
  output.arrays.add("unscaled_output", attend(q, k, v, {.scale = 1}, work.pool).result);
  output.arrays.add("X_output", attend(q, k, x, {}, work.pool).result);
  figure::Heatmap picture = heatmap_of(*output.arrays.find("weights"), "softmax(Q K^T / sqrt(d_k))");
  picture.values = true;
  output.figures.add("weights_map", std::move(picture));
  const LessonArray result = *output.arrays.find("output");
  check_answer(output, input.array("answer"), result);
  return output;
}

}  // namespace attn::course
