// lessons/multi-head/compute.cc - several heads at once: the film critic, and a whole layer of heads.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/compute/model_look.h"
#include "course/course.h"

namespace attn::course {

namespace {

constexpr std::int64_t kMultiHeadWidth = 8;
constexpr double kClear = 2;  // size of the numbers in a critic's query and an aspect's key

// A critic asks about four aspects at once, one number each; the value of an aspect is its mark, in its own column.
struct Film {
  LessonArray q, k, v;

  explicit Film(const LessonArray& marks)
      : q(LessonArray::zeros({1, marks.width()})), k(LessonArray::zeros({marks.width(), marks.width()})), v(k) {
    for (std::int64_t n = 0; n < marks.width(); ++n) {
      q.at(0, n) = k.at(n, n) = kClear;
      v.at(n, n) = marks.at(0, n);
    }
  }
};

void add_critic(LessonOutput& output, const LessonInput& input, ThreadPool& pool) {
  const std::vector<std::string>& aspects = input.words("aspects");
  const LessonArray& marks = input.array("marks");
  if (marks.rank() != 2 || marks.height() != 1 || marks.width() != std::ssize(aspects))
    throw std::invalid_argument("'marks' must be one row with one number for each of the " +
                                std::to_string(aspects.size()) + " aspects");
  const std::int64_t heads = input.whole("heads");
  const Film film(marks);
  output.arrays.add("marks", LessonArray(marks).named({}, aspects));
  output.arrays.add("critic_Q", LessonArray(film.q).named({"critic"}, aspects));
  output.arrays.add("critic_K", LessonArray(film.k).named(aspects, aspects));
  output.arrays.add("critic_V", LessonArray(film.v).named(aspects, aspects));
  add(output, attend(film.q, film.k, film.v, {}, pool),
      {.q = "critic_Q", .k = "critic_K", .v = "critic_V", .prefix = "one_", .queries = {"critic"}, .keys = aspects});
  AttendedMany many =
      attend_many(split_heads(film.q, heads), split_heads(film.k, heads), split_heads(film.v, heads), {}, pool);
  const LessonArray joined = join_heads(many.result);
  many.weights.shape = {heads, marks.width()};
  double sum = 0;
  for (const double number : joined.numbers) sum += number;
  output.arrays.add("heads_weights", std::move(many.weights).named(numbered("head ", heads), aspects));
  output.arrays.add("heads_output", LessonArray(joined).named({"critic"}, aspects));
  output.arrays.add("mean_mark", LessonArray::scalar(sum / static_cast<double>(joined.width())));
  output.arrays.add("largest_share",
                    LessonArray::scalar(*std::ranges::max_element(output.arrays.find("heads_weights")->numbers)));
}

struct MultiHeadLayer {
  LessonArray x, w_q, w_k, w_v, w_o;

  MultiHeadLayer(std::int64_t words, std::uint32_t seed) {
    nn::NumpyRandom random(seed);
    x = normal({words, kMultiHeadWidth}, random);
    for (LessonArray* const w : {&w_q, &w_k, &w_v, &w_o})
      *w = times(normal({kMultiHeadWidth, kMultiHeadWidth}, random),
                 1 / std::sqrt(static_cast<double>(kMultiHeadWidth)));
  }
  [[nodiscard]] AttendedMany attended(std::int64_t heads, ThreadPool& pool) const {
    return attend_many(split_heads(product(x, w_q), heads), split_heads(product(x, w_k), heads),
                       split_heads(product(x, w_v), heads), {}, pool);
  }
};

// How far the tables of heads are apart: 0 if they are equal.
double apart(const LessonArray& weights) {
  double most = 0;
  for (std::int64_t h = 1; h < weights.shape[0]; ++h)
    most = std::max(most, largest_difference(slice(weights, 0), slice(weights, h)));
  return most;
}

void add_layer(LessonOutput& output, const LessonInput& input, ThreadPool& pool) {
  const std::vector<std::string>& words = input.words("words");
  const std::int64_t heads = input.whole("heads");
  const MultiHeadLayer layer(std::ssize(words), static_cast<std::uint32_t>(input.whole("seed")));
  AttendedMany many = layer.attended(heads, pool), one = layer.attended(1, pool);
  const LessonArray concat = join_heads(many.result);
  output.arrays.add("X", LessonArray(layer.x).named(words, {}));
  output.arrays.add("weights", std::move(many.weights).named(words, words));
  output.arrays.add("concat", LessonArray(concat).named(words, {}));
  output.arrays.add("W_o", layer.w_o);
  output.arrays.add("output",
                    product(concat, layer.w_o).named(words, {}).from({MadeFrom::By::product, "concat", "W_o"}));
  output.arrays.add("single_weights", slice(one.weights, 0).named(words, words));
  output.arrays.add("single_output", product(join_heads(one.result), layer.w_o).named(words, {}));
  const LessonArray& weights = *output.arrays.find("weights");
  output.figures.add("heads_map", blue_grid(weights, "Heads"));
  output.arrays.add("apart", LessonArray::scalar(apart(weights)));
  output.arrays.add("parameters", LessonArray::scalar(4.0 * kMultiHeadWidth * kMultiHeadWidth));
}

}  // namespace

LessonOutput multi_head(const LessonInput& input, const LessonWork& work) {
  LessonOutput output;
  const std::int64_t heads = input.whole("heads");
  output.arrays.add("heads", LessonArray::scalar(static_cast<double>(heads)));
  output.arrays.add("d_model", LessonArray::scalar(kMultiHeadWidth));
  add_critic(output, input, work.pool);
  add_layer(output, input, work.pool);
  const LessonArray base = split_heads(LessonArray::zeros({1, 512}), 8),
                    bert = split_heads(LessonArray::zeros({1, 768}), 12);
  output.arrays.add("base_d_k", LessonArray::scalar(static_cast<double>(base.shape.back())));
  output.arrays.add("bert_d_k", LessonArray::scalar(static_cast<double>(bert.shape.back())));
  return output;
}

}  // namespace attn::course
