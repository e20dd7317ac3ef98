// lessons/why-scale/compute.cc - what sqrt(d_k) is for: variance, saturation, gradients; and how softmax overflows.
#include <cmath>
#include <stdexcept>

#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/course.h"

namespace attn::lesson {

namespace {

constexpr std::int64_t kDotPairs = 500, kDraws = 1600, kDoublings = 9;

double entropy(const Array& weights) {
  double sum = 0;
  for (const double weight : weights.numbers) sum -= weight > 0 ? weight * std::log(weight) : 0;
  return sum;
}

// Of d weight / d score = diag(p) - p p^T: the root of the sum of its squares.
double gradient_norm(const Array& weights) {
  double sum = 0;
  for (std::int64_t i = 0; i < weights.width(); ++i)
    for (std::int64_t j = 0; j < weights.width(); ++j)
      sum = std::hypot(sum, (i == j ? weights.at(0, i) : 0) - weights.at(0, i) * weights.at(0, j));
  return sum;
}

double root_of(std::int64_t width) { return std::sqrt(static_cast<double>(width)); }

// Mean and variance of q.k over many pairs of random vectors, for several widths.
Array dot_spread(std::uint32_t seed, std::int64_t d_k) {
  const std::int64_t widths[] = {4, 16, 64, 256, d_k};
  Array out = Array::zeros({std::ssize(widths), 2});
  out.columns = {"mean", "variance"};
  for (std::int64_t n = 0; n < out.height(); ++n) {
    nn::NumpyRandom random(seed);
    const Array q = normal({kDotPairs, widths[n]}, random), k = normal({kDotPairs, widths[n]}, random);
    std::vector<double> dots(kDotPairs);
    for (std::int64_t i = 0; i < kDotPairs; ++i)
      for (std::int64_t t = 0; t < widths[n]; ++t) dots[static_cast<std::size_t>(i)] += q.at(i, t) * k.at(i, t);
    for (const double dot : dots) out.at(n, 0) += dot / kDotPairs;
    for (const double dot : dots) out.at(n, 1) += std::pow(dot - out.at(n, 0), 2) / kDotPairs;
    out.rows.push_back("d_k " + std::to_string(widths[n]));
  }
  return out;
}

// Entropy and gradient norm of a query's weights, the means over several queries, for widths 1, 2, 4 ...
Array by_width(std::uint32_t seed, std::int64_t keys, std::int64_t trials) {
  Array out = Array::zeros({kDoublings + 1, 4});
  out.columns = {"entropy", "entropy /√d_k", "gradient", "gradient /√d_k"};
  for (std::int64_t n = 0; n <= kDoublings; ++n) {
    const std::int64_t width = std::int64_t{1} << n;
    nn::NumpyRandom random(seed);
    for (std::int64_t trial = 0; trial < trials; ++trial) {
      const Array q = normal({1, width}, random), k = normal({keys, width}, random);
      const Array scores = transposed(q, k);
      const Array plain = softmax_rows(scores), scaled = softmax_rows(times(scores, 1 / root_of(width)));
      const double found[] = {entropy(plain), entropy(scaled), gradient_norm(plain), gradient_norm(scaled)};
      for (std::int64_t column = 0; column < 4; ++column)
        out.at(n, column) += found[column] / static_cast<double>(trials);
    }
    out.rows.push_back("d_k " + std::to_string(width));
  }
  return out;
}

figure::Curves curves_of(const Array& table, std::int64_t first, std::string title, std::string y_label) {
  figure::Curves out{.curves = {{.name = "Q K^T", .x = {}, .y = {}}, {.name = "Q K^T / sqrt(d_k)", .x = {}, .y = {}}},
                     .title = std::move(title),
                     .x_label = "d_k",
                     .y_label = std::move(y_label),
                     .caption = {},
                     .log_x = true};
  for (std::int64_t n = 0; n < table.height(); ++n)
    for (std::size_t which = 0; which < 2; ++which) {
      out.curves[which].x.push_back(static_cast<double>(std::int64_t{1} << n));
      out.curves[which].y.push_back(table.at(n, first + static_cast<std::int64_t>(which)));
    }
  return out;
}

// exp(score - less) of each row divided by its sum, `less` as it is given: how it is not done.
Array softmax_less(const Array& scores, double less) {
  Array out = scores;
  for (double& number : out.numbers) number = std::exp(number - less);
  const Array sums = row_sums(out);
  for (std::int64_t i = 0; i < out.height(); ++i)
    for (std::int64_t j = 0; j < out.width(); ++j) out.at(i, j) /= sums.numbers[static_cast<std::size_t>(i)];
  return out;
}

void add_saturated(Told& told, const Given& given, std::int64_t d_k) {
  const Array& large = given.array("large");
  if (large.rank() != 2 || large.height() != 1)
    throw std::invalid_argument("'large' must be one row of scores, [[1, 2, 100]]");
  const Array scaled = times(large, 1 / root_of(d_k));
  const Array weights = softmax_rows(large), calm = softmax_rows(scaled);
  told.arrays.add("large", large);
  told.arrays.add("large_scaled", Array(scaled).from({Made::By::each, "large"}));
  told.arrays.add("large_gradient", Array::scalar(gradient_norm(weights)));
  told.arrays.add("calm_gradient", Array::scalar(gradient_norm(calm)));
  told.arrays.add("large_weights", Array(weights).from({Made::By::rows, "large"}));
  told.arrays.add("calm_weights", Array(calm).from({Made::By::rows, "large_scaled"}));
}

// One query against some keys, by the engine: with the scale and without.
void add_example(Told& told, std::uint32_t seed, std::int64_t d_k, const std::int64_t keys, ThreadPool& pool) {
  nn::NumpyRandom random(seed);
  const Array q = normal({1, d_k}, random), k = normal({keys, d_k}, random);
  const std::vector<std::string> names = numbered("key ", keys);
  Attended plain = attend(q, k, k, {.scale = 1}, pool), scaled = attend(q, k, k, {}, pool);
  told.arrays.add("dots", std::move(plain.scores).named({}, names));
  told.arrays.add("plain_weights", std::move(plain.weights).named({}, names).from({Made::By::rows, "dots"}));
  told.arrays.add("scaled", std::move(scaled.scaled).named({}, names).from({Made::By::each, "dots"}));
  told.arrays.add("weights", std::move(scaled.weights).named({}, names).from({Made::By::rows, "scaled"}));
}

void add_overflows(Told& told) {
  const Array high = {{1, 3}, {1000, 1001, 1002}};
  Array powers = high;
  for (double& number : powers.numbers) number = std::exp(number);
  told.arrays.add("high", high);
  told.arrays.add("high_powers", std::move(powers).from({Made::By::each, "high"}));
  told.arrays.add("high_naive", softmax_less(high, 0).from({Made::By::each, "high_powers"}));
  told.arrays.add("high_weights", softmax_rows(high).from({Made::By::rows, "high"}));
  const Array rows = {{2, 2}, {1000, 1001, 1, 2}};
  told.arrays.add("rows", rows);
  told.arrays.add("rows_whole", softmax_less(rows, 1001).from({Made::By::each, "rows"}));
  told.arrays.add("rows_weights", softmax_rows(rows).from({Made::By::rows, "rows"}));
}

}  // namespace

Told why_scale(const Given& given, const Work& work) {
  Told told;
  const auto seed = static_cast<std::uint32_t>(given.whole("seed"));
  const std::int64_t d_k = given.whole("d_k"), keys = given.whole("keys");
  told.arrays.add("d_k", Array::scalar(static_cast<double>(d_k)));
  told.arrays.add("root", Array::scalar(root_of(d_k)));
  told.arrays.add("keys", Array::scalar(static_cast<double>(keys)));
  const std::int64_t trials = kDraws / keys;  // as much work for many keys as for few
  told.arrays.add("trials", Array::scalar(static_cast<double>(trials)));
  told.arrays.add("even", Array::scalar(std::log(static_cast<double>(keys))));
  told.arrays.add("spread", dot_spread(seed, d_k));
  add_saturated(told, given, d_k);
  add_example(told, seed, d_k, keys, work.pool);
  const Array& curves = told.arrays.add("by_width", by_width(seed, keys, trials));
  told.figures.add("entropy", curves_of(curves, 0, "Entropy of the weights", "entropy"));
  told.figures.add("gradient", curves_of(curves, 2, "Gradient through softmax", "gradient norm"));
  add_overflows(told);
  return told;
}

}  // namespace attn::lesson
