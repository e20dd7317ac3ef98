// lessons/deep-ml-53/compute.cc - the published exercise on self-attention, and the reader's answer to it.
#include "course/answer.h"
#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/course.h"

namespace attn::lesson {

Told deep_ml_53(const Given& given, const Work& work) {
  Told told;
  const Array& x = given.array("X");
  for (const char* name : {"X", "W_q", "W_k", "W_v"}) told.arrays.add(name, given.array(name));
  const Array q = product(x, given.array("W_q")), k = product(x, given.array("W_k")),
              v = product(x, given.array("W_v"));
  told.arrays.add("Q", Array(q).from({Made::By::product, "X", "W_q"}));
  told.arrays.add("K", Array(k).from({Made::By::product, "X", "W_k"}));
  told.arrays.add("V", Array(v).from({Made::By::product, "X", "W_v"}));
  add(told, attend(q, k, v, {}, work.pool), {});
  told.arrays.add("unscaled_output", attend(q, k, v, {.scale = 1}, work.pool).output);
  told.arrays.add("X_output", attend(q, k, x, {}, work.pool).output);
  figure::Heatmap picture = heatmap_of(*told.arrays.find("weights"), "softmax(Q K^T / sqrt(d_k))");
  picture.values = true;
  told.figures.add("weights_map", std::move(picture));
  const Array output = *told.arrays.find("output");
  check_answer(told, given.array("answer"), output);
  return told;
}

}  // namespace attn::lesson
