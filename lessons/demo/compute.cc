// lessons/demo/compute.cc - attention in five parts: the formula, Q K V, causal, heads, a picture.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/compute/model_look.h"
#include "course/course.h"

namespace attn::course {

namespace {

LessonArray scalar(double number) { return LessonArray::scalar(number); }

// The mean entropy of the rows, in nats.
double mean_entropy(const LessonArray& weights) {
  double sum = 0;
  for (const double w : weights.numbers) sum -= w > 0 ? w * std::log(w) : 0;
  return sum / static_cast<double>(weights.height());
}

double mean_diagonal(const LessonArray& weights) {
  double sum = 0;
  for (std::int64_t i = 0; i < weights.height(); ++i) sum += weights.at(i, i);
  return sum / static_cast<double>(weights.height());
}

// How far a table is from symmetric.
double asymmetry(const LessonArray& table) {
  double most = 0;
  for (std::int64_t i = 0; i < table.height(); ++i)
    for (std::int64_t j = 0; j < i; ++j) most = std::max(most, std::abs(table.at(i, j) - table.at(j, i)));
  return most;
}

LessonArray columns_of(const LessonArray& matrix, std::int64_t first, std::int64_t count) {
  LessonArray out = LessonArray::zeros({matrix.height(), count});
  for (std::int64_t i = 0; i < matrix.height(); ++i)
    for (std::int64_t j = 0; j < count; ++j) out.at(i, j) = matrix.at(i, first + j);
  return out;
}

struct Parts {
  LessonArray x, q, k, v;
  std::vector<std::string> names;  // of positions
};

void add_alone(LessonOutput& output, const Parts& parts, ThreadPool& pool) {
  LessonAttention alone = attend(parts.x, parts.x, parts.x, {}, pool);
  output.arrays.add("self_diagonal", scalar(mean_diagonal(alone.weights)));
  output.arrays.add("self_asymmetry", scalar(asymmetry(alone.scores)));
  output.figures.add("self", heatmap_of(LessonArray(alone.weights).named(parts.names, parts.names), "Q = K = V = X"));
  add(output, std::move(alone),
      {.q = "X", .k = "X", .v = "X", .prefix = "self_", .queries = parts.names, .keys = parts.names});
}

void add_projected(LessonOutput& output, const Parts& parts, ThreadPool& pool) {
  LessonAttention free = attend(parts.q, parts.k, parts.v, {}, pool);
  output.arrays.add("diagonal", scalar(mean_diagonal(free.weights)));
  output.arrays.add("asymmetry", scalar(asymmetry(free.scores)));
  output.arrays.add("entropy", scalar(mean_entropy(free.weights)));
  output.figures.add("qkv",
                     heatmap_of(LessonArray(free.weights).named(parts.names, parts.names), "Q = X W_q, K = X W_k"));
  add(output, std::move(free), {.queries = parts.names, .keys = parts.names});

  LessonAttention causal = attend(parts.q, parts.k, parts.v, {.mask = Causal{}}, pool);
  output.arrays.add("causal_entropy", scalar(mean_entropy(causal.weights)));
  output.figures.add("causal", heatmap_of(LessonArray(causal.weights).named(parts.names, parts.names), "Causal"));
  output.arrays.add("causal_weights",
                    std::move(causal.weights).named(parts.names, parts.names).from({MadeFrom::By::rows, "scaled"}));
  output.arrays.add(
      "causal_output",
      std::move(causal.result).named(parts.names, {}).from({MadeFrom::By::product, "causal_weights", "V"}));
}

// The same Q, K and V split into heads: the entropy of each, and its distance from the first.
void add_heads(LessonOutput& output, const Parts& parts, std::int64_t heads, ThreadPool& pool) {
  const std::int64_t width = parts.q.width() / heads, n = parts.q.height();
  LessonArray tables{.shape = {heads, n, n}, .numbers = {}}, entropy = LessonArray::zeros({heads}), first;
  double differ = 0;
  for (std::int64_t head = 0; head < heads; ++head) {
    const auto part = [&](const LessonArray& whole) { return columns_of(whole, head * width, width); };
    const LessonArray weights = LessonArray(attend(part(parts.q), part(parts.k), part(parts.v), {}, pool).weights)
                                    .named(parts.names, parts.names);
    entropy.numbers[static_cast<std::size_t>(head)] = mean_entropy(weights);
    if (head == 0) first = weights;
    differ = std::max(differ, largest_difference(weights, first));
    tables.numbers.insert(tables.numbers.end(), weights.numbers.begin(), weights.numbers.end());
  }
  output.arrays.add("head_width", scalar(static_cast<double>(width)));
  tables.rows = tables.columns = parts.names;
  output.figures.add("heads", blue_grid(tables, std::to_string(heads) + " heads"));
  output.arrays.add("head_weights", std::move(tables));
  output.arrays.add("head_entropy", std::move(entropy).named({}, numbered("head ", heads)));
  output.arrays.add("heads_differ", scalar(differ));
}

// Random rows that sum to 1: a picture that looks like attention and is none.
void add_picture(LessonOutput& output, std::int64_t n, std::uint32_t seed) {
  nn::NumpyRandom random(seed);
  LessonArray picture = LessonArray::zeros({n, n}).named(numbered("", n), numbered("", n));
  for (double& number : picture.numbers) number = random.uniform();
  const LessonArray sums = row_sums(picture);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) picture.at(i, j) /= sums.numbers[static_cast<std::size_t>(i)];
  figure::Heatmap map = heatmap_of(picture, "Attention Weights Heatmap");
  map.x_label = "Key Position";
  map.y_label = "Query Position";
  output.arrays.add("random_rows", picture);
  output.arrays.add("picture_entropy", scalar(mean_entropy(picture)));
  output.figures.add("picture", std::move(map));
}

}  // namespace

LessonOutput demo(const LessonInput& input, const LessonWork& work) {
  const std::int64_t n = input.whole("n"), width = input.whole("d_model"), heads = input.whole("heads");
  if (width % heads != 0)
    throw std::invalid_argument("d_model " + std::to_string(width) + " is not a multiple of " + std::to_string(heads) +
                                " heads");
  const auto seed = static_cast<std::uint32_t>(input.whole("seed"));
  nn::NumpyRandom random(seed);
  Parts parts{.x = normal({n, width}, random), .q = {}, .k = {}, .v = {}, .names = numbered("", n)};
  const LessonArray w_q = normal({width, width}, random), w_k = normal({width, width}, random),
                    w_v = normal({width, width}, random);
  const double shrink = 1 / std::sqrt(static_cast<double>(width));
  const auto projected = [&](const LessonArray& w) { return times(product(parts.x, w), shrink); };
  parts.q = projected(w_q);
  parts.k = projected(w_k);
  parts.v = projected(w_v);

  LessonOutput output;
  for (const auto& [name, value] : {std::pair{"n", n}, {"d_model", width}, {"heads", heads}})
    output.arrays.add(name, scalar(static_cast<double>(value)));
  output.arrays.add("seed", scalar(seed));
  output.arrays.add("X", LessonArray(parts.x).named(parts.names, {}));
  output.arrays.add("W_q", times(w_q, shrink));
  output.arrays.add("W_k", times(w_k, shrink));
  output.arrays.add("W_v", times(w_v, shrink));
  output.arrays.add("Q", LessonArray(parts.q).named(parts.names, {}).from({MadeFrom::By::product, "X", "W_q"}));
  output.arrays.add("K", LessonArray(parts.k).named(parts.names, {}).from({MadeFrom::By::product, "X", "W_k"}));
  output.arrays.add("V", LessonArray(parts.v).named(parts.names, {}).from({MadeFrom::By::product, "X", "W_v"}));
  add_alone(output, parts, work.pool);
  add_projected(output, parts, work.pool);
  add_heads(output, parts, heads, work.pool);
  add_picture(output, n, seed);
  return output;
}

}  // namespace attn::course
