// lessons/demo/compute.cc - attention in five parts: itself, Q K V, causal, heads, a picture.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/compute/model_look.h"
#include "course/course.h"

namespace attn::lesson {

namespace {

Array scalar(double number) { return Array::scalar(number); }

// Nats, the mean over rows.
double mean_entropy(const Array& weights) {
  double sum = 0;
  for (const double w : weights.numbers) sum -= w > 0 ? w * std::log(w) : 0;
  return sum / static_cast<double>(weights.height());
}

double mean_diagonal(const Array& weights) {
  double sum = 0;
  for (std::int64_t i = 0; i < weights.height(); ++i) sum += weights.at(i, i);
  return sum / static_cast<double>(weights.height());
}

// How far a table is from being its own mirror image.
double asymmetry(const Array& table) {
  double most = 0;
  for (std::int64_t i = 0; i < table.height(); ++i)
    for (std::int64_t j = 0; j < i; ++j) most = std::max(most, std::abs(table.at(i, j) - table.at(j, i)));
  return most;
}

Array columns_of(const Array& matrix, std::int64_t first, std::int64_t count) {
  Array out = Array::zeros({matrix.height(), count});
  for (std::int64_t i = 0; i < matrix.height(); ++i)
    for (std::int64_t j = 0; j < count; ++j) out.at(i, j) = matrix.at(i, first + j);
  return out;
}

struct Parts {
  Array x, q, k, v;
  std::vector<std::string> names;  // of positions
};

void add_alone(Told& told, const Parts& parts, ThreadPool& pool) {
  Attended alone = attend(parts.x, parts.x, parts.x, {}, pool);
  told.arrays.add("self_diagonal", scalar(mean_diagonal(alone.weights)));
  told.arrays.add("self_asymmetry", scalar(asymmetry(alone.scores)));
  told.figures.add("self", heatmap_of(Array(alone.weights).named(parts.names, parts.names), "Q = K = V = X"));
  add(told, std::move(alone),
      {.q = "X", .k = "X", .v = "X", .prefix = "self_", .queries = parts.names, .keys = parts.names});
}

void add_projected(Told& told, const Parts& parts, ThreadPool& pool) {
  Attended free = attend(parts.q, parts.k, parts.v, {}, pool);
  told.arrays.add("diagonal", scalar(mean_diagonal(free.weights)));
  told.arrays.add("asymmetry", scalar(asymmetry(free.scores)));
  told.arrays.add("entropy", scalar(mean_entropy(free.weights)));
  told.figures.add("qkv", heatmap_of(Array(free.weights).named(parts.names, parts.names), "Q = X W_q, K = X W_k"));
  add(told, std::move(free), {.queries = parts.names, .keys = parts.names});

  Attended causal = attend(parts.q, parts.k, parts.v, {.mask = Causal{}}, pool);
  told.arrays.add("causal_entropy", scalar(mean_entropy(causal.weights)));
  told.figures.add("causal", heatmap_of(Array(causal.weights).named(parts.names, parts.names), "Causal"));
  told.arrays.add("causal_weights",
                  std::move(causal.weights).named(parts.names, parts.names).from({Made::By::rows, "scaled"}));
  told.arrays.add("causal_output",
                  std::move(causal.output).named(parts.names, {}).from({Made::By::product, "causal_weights", "V"}));
}

// The same Q, K and V cut into heads: how widely each looks, and how far they are from the first.
void add_heads(Told& told, const Parts& parts, std::int64_t heads, ThreadPool& pool) {
  const std::int64_t width = parts.q.width() / heads, n = parts.q.height();
  Array tables{.shape = {heads, n, n}, .numbers = {}}, entropy = Array::zeros({heads}), first;
  double differ = 0;
  for (std::int64_t head = 0; head < heads; ++head) {
    const auto part = [&](const Array& whole) { return columns_of(whole, head * width, width); };
    const Array weights =
        Array(attend(part(parts.q), part(parts.k), part(parts.v), {}, pool).weights).named(parts.names, parts.names);
    entropy.numbers[static_cast<std::size_t>(head)] = mean_entropy(weights);
    if (head == 0) first = weights;
    differ = std::max(differ, largest_difference(weights, first));
    tables.numbers.insert(tables.numbers.end(), weights.numbers.begin(), weights.numbers.end());
  }
  told.arrays.add("head_width", scalar(static_cast<double>(width)));
  tables.rows = tables.columns = parts.names;
  told.figures.add("heads", blue_grid(tables, std::to_string(heads) + " heads"));
  told.arrays.add("head_weights", std::move(tables));
  told.arrays.add("head_entropy", std::move(entropy).named({}, numbered("head ", heads)));
  told.arrays.add("heads_differ", scalar(differ));
}

// Random rows that sum to 1: no attention at all, and the same picture.
void add_picture(Told& told, std::int64_t n, std::uint32_t seed) {
  nn::NumpyRandom random(seed);
  Array picture = Array::zeros({n, n}).named(numbered("", n), numbered("", n));
  for (double& number : picture.numbers) number = random.uniform();
  const Array sums = row_sums(picture);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) picture.at(i, j) /= sums.numbers[static_cast<std::size_t>(i)];
  figure::Heatmap map = heatmap_of(picture, "Attention Weights Heatmap");
  map.x_label = "Key Position";
  map.y_label = "Query Position";
  told.arrays.add("random_rows", picture);
  told.arrays.add("picture_entropy", scalar(mean_entropy(picture)));
  told.figures.add("picture", std::move(map));
}

}  // namespace

Told demo(const Given& given, const Work& work) {
  const std::int64_t n = given.whole("n"), width = given.whole("d_model"), heads = given.whole("heads");
  if (width % heads != 0)
    throw std::invalid_argument("d_model " + std::to_string(width) + " is no multiple of " + std::to_string(heads) +
                                " heads");
  const auto seed = static_cast<std::uint32_t>(given.whole("seed"));
  nn::NumpyRandom random(seed);
  Parts parts{.x = normal({n, width}, random), .q = {}, .k = {}, .v = {}, .names = numbered("", n)};
  const Array w_q = normal({width, width}, random), w_k = normal({width, width}, random),
              w_v = normal({width, width}, random);
  const double shrink = 1 / std::sqrt(static_cast<double>(width));
  const auto projected = [&](const Array& w) { return times(product(parts.x, w), shrink); };
  parts.q = projected(w_q);
  parts.k = projected(w_k);
  parts.v = projected(w_v);

  Told told;
  for (const auto& [name, value] : {std::pair{"n", n}, {"d_model", width}, {"heads", heads}})
    told.arrays.add(name, scalar(static_cast<double>(value)));
  told.arrays.add("seed", scalar(seed));
  told.arrays.add("X", Array(parts.x).named(parts.names, {}));
  told.arrays.add("W_q", times(w_q, shrink));
  told.arrays.add("W_k", times(w_k, shrink));
  told.arrays.add("W_v", times(w_v, shrink));
  told.arrays.add("Q", Array(parts.q).named(parts.names, {}).from({Made::By::product, "X", "W_q"}));
  told.arrays.add("K", Array(parts.k).named(parts.names, {}).from({Made::By::product, "X", "W_k"}));
  told.arrays.add("V", Array(parts.v).named(parts.names, {}).from({Made::By::product, "X", "W_v"}));
  add_alone(told, parts, work.pool);
  add_projected(told, parts, work.pool);
  add_heads(told, parts, heads, work.pool);
  add_picture(told, n, seed);
  return told;
}

}  // namespace attn::lesson
