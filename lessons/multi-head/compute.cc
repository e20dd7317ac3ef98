// lessons/multi-head/compute.cc - several heads look at once: the film critic, and a whole layer of heads.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/compute/model_look.h"
#include "course/course.h"

namespace attn::lesson {

namespace {

constexpr std::int64_t kMultiHeadWidth = 8;
constexpr double kClear = 2;  // how clearly a critic's question and an aspect's key are said

// A critic asks about four aspects at once, one number each; the value of an aspect is its mark, in its own column.
struct Film {
  Array q, k, v;

  explicit Film(const Array& marks)
      : q(Array::zeros({1, marks.width()})), k(Array::zeros({marks.width(), marks.width()})), v(k) {
    for (std::int64_t n = 0; n < marks.width(); ++n) {
      q.at(0, n) = k.at(n, n) = kClear;
      v.at(n, n) = marks.at(0, n);
    }
  }
};

void add_critic(Told& told, const Given& given, ThreadPool& pool) {
  const std::vector<std::string>& aspects = given.words("aspects");
  const Array& marks = given.array("marks");
  if (marks.rank() != 2 || marks.height() != 1 || marks.width() != std::ssize(aspects))
    throw std::invalid_argument("'marks' must be one row with a number for each of the " +
                                std::to_string(aspects.size()) + " aspects");
  const std::int64_t heads = given.whole("heads");
  const Film film(marks);
  told.arrays.add("marks", Array(marks).named({}, aspects));
  told.arrays.add("critic_Q", Array(film.q).named({"critic"}, aspects));
  told.arrays.add("critic_K", Array(film.k).named(aspects, aspects));
  told.arrays.add("critic_V", Array(film.v).named(aspects, aspects));
  add(told, attend(film.q, film.k, film.v, {}, pool),
      {.q = "critic_Q", .k = "critic_K", .v = "critic_V", .prefix = "one_", .queries = {"critic"}, .keys = aspects});
  AttendedMany many =
      attend_many(split_heads(film.q, heads), split_heads(film.k, heads), split_heads(film.v, heads), {}, pool);
  const Array joined = join_heads(many.output);
  many.weights.shape = {heads, marks.width()};
  double sum = 0;
  for (const double number : joined.numbers) sum += number;
  told.arrays.add("heads_weights", std::move(many.weights).named(numbered("head ", heads), aspects));
  told.arrays.add("heads_output", Array(joined).named({"critic"}, aspects));
  told.arrays.add("mean_mark", Array::scalar(sum / static_cast<double>(joined.width())));
  told.arrays.add("largest_share",
                  Array::scalar(*std::ranges::max_element(told.arrays.find("heads_weights")->numbers)));
}

struct MultiHeadLayer {
  Array x, w_q, w_k, w_v, w_o;

  MultiHeadLayer(std::int64_t words, std::uint32_t seed) {
    nn::NumpyRandom random(seed);
    x = normal({words, kMultiHeadWidth}, random);
    for (Array* const w : {&w_q, &w_k, &w_v, &w_o})
      *w = times(normal({kMultiHeadWidth, kMultiHeadWidth}, random),
                 1 / std::sqrt(static_cast<double>(kMultiHeadWidth)));
  }
  [[nodiscard]] AttendedMany attended(std::int64_t heads, ThreadPool& pool) const {
    return attend_many(split_heads(product(x, w_q), heads), split_heads(product(x, w_k), heads),
                       split_heads(product(x, w_v), heads), {}, pool);
  }
};

// How far the heads' tables are apart: 0 if all look at the same.
double apart(const Array& weights) {
  double most = 0;
  for (std::int64_t h = 1; h < weights.shape[0]; ++h)
    most = std::max(most, largest_difference(slice(weights, 0), slice(weights, h)));
  return most;
}

void add_layer(Told& told, const Given& given, ThreadPool& pool) {
  const std::vector<std::string>& words = given.words("words");
  const std::int64_t heads = given.whole("heads");
  const MultiHeadLayer layer(std::ssize(words), static_cast<std::uint32_t>(given.whole("seed")));
  AttendedMany many = layer.attended(heads, pool), one = layer.attended(1, pool);
  const Array concat = join_heads(many.output);
  told.arrays.add("X", Array(layer.x).named(words, {}));
  told.arrays.add("weights", std::move(many.weights).named(words, words));
  told.arrays.add("concat", Array(concat).named(words, {}));
  told.arrays.add("W_o", layer.w_o);
  told.arrays.add("output", product(concat, layer.w_o).named(words, {}).from({Made::By::product, "concat", "W_o"}));
  told.arrays.add("single_weights", slice(one.weights, 0).named(words, words));
  told.arrays.add("single_output", product(join_heads(one.output), layer.w_o).named(words, {}));
  const Array& weights = *told.arrays.find("weights");
  told.figures.add("heads_map", blue_grid(weights, "Heads"));
  told.arrays.add("apart", Array::scalar(apart(weights)));
  told.arrays.add("parameters", Array::scalar(4.0 * kMultiHeadWidth * kMultiHeadWidth));
}

}  // namespace

Told multi_head(const Given& given, const Work& work) {
  Told told;
  const std::int64_t heads = given.whole("heads");
  told.arrays.add("heads", Array::scalar(static_cast<double>(heads)));
  told.arrays.add("d_model", Array::scalar(kMultiHeadWidth));
  add_critic(told, given, work.pool);
  add_layer(told, given, work.pool);
  const Array base = split_heads(Array::zeros({1, 512}), 8), bert = split_heads(Array::zeros({1, 768}), 12);
  told.arrays.add("base_d_k", Array::scalar(static_cast<double>(base.shape.back())));
  told.arrays.add("bert_d_k", Array::scalar(static_cast<double>(bert.shape.back())));
  return told;
}

}  // namespace attn::lesson
