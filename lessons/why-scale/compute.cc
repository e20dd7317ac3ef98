// lessons/why-scale/compute.cc - the purpose of sqrt(d_k): variance, saturation, gradients; and overflow of softmax.
#include <cmath>
#include <stdexcept>

#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/course.h"

namespace attn::course {

namespace {

constexpr std::int64_t kDotPairs = 500, kDraws = 1600, kDoublings = 9;

double entropy(const LessonArray& weights) {
  double sum = 0;
  for (const double weight : weights.numbers) sum -= weight > 0 ? weight * std::log(weight) : 0;
  return sum;
}

// The Frobenius norm of d weight / d score = diag(p) - p p^T.
double gradient_norm(const LessonArray& weights) {
  double sum = 0;
  for (std::int64_t i = 0; i < weights.width(); ++i)
    for (std::int64_t j = 0; j < weights.width(); ++j)
      sum = std::hypot(sum, (i == j ? weights.at(0, i) : 0) - weights.at(0, i) * weights.at(0, j));
  return sum;
}

double root_of(std::int64_t width) { return std::sqrt(static_cast<double>(width)); }

// Mean and variance of q.k over many pairs of random vectors, for several widths.
LessonArray dot_spread(std::uint32_t seed, std::int64_t d_k) {
  const std::int64_t widths[] = {4, 16, 64, 256, d_k};
  LessonArray out = LessonArray::zeros({std::ssize(widths), 2});
  out.columns = {"mean", "variance"};
  for (std::int64_t n = 0; n < out.height(); ++n) {
    nn::NumpyRandom random(seed);
    const LessonArray q = normal({kDotPairs, widths[n]}, random), k = normal({kDotPairs, widths[n]}, random);
    std::vector<double> dots(kDotPairs);
    for (std::int64_t i = 0; i < kDotPairs; ++i)
      for (std::int64_t t = 0; t < widths[n]; ++t) dots[static_cast<std::size_t>(i)] += q.at(i, t) * k.at(i, t);
    for (const double dot : dots) out.at(n, 0) += dot / kDotPairs;
    for (const double dot : dots) out.at(n, 1) += std::pow(dot - out.at(n, 0), 2) / kDotPairs;
    out.rows.push_back("d_k " + std::to_string(widths[n]));
  }
  return out;
}

// Entropy and gradient norm of a query's weights, means over several queries, for widths 1, 2, 4 ...
LessonArray by_width(std::uint32_t seed, std::int64_t keys, std::int64_t trials) {
  LessonArray out = LessonArray::zeros({kDoublings + 1, 4});
  out.columns = {"entropy", "entropy /√d_k", "gradient", "gradient /√d_k"};
  for (std::int64_t n = 0; n <= kDoublings; ++n) {
    const std::int64_t width = std::int64_t{1} << n;
    nn::NumpyRandom random(seed);
    for (std::int64_t trial = 0; trial < trials; ++trial) {
      const LessonArray q = normal({1, width}, random), k = normal({keys, width}, random);
      const LessonArray scores = transposed(q, k);
      const LessonArray plain = softmax_rows(scores), scaled = softmax_rows(times(scores, 1 / root_of(width)));
      const double found[] = {entropy(plain), entropy(scaled), gradient_norm(plain), gradient_norm(scaled)};
      for (std::int64_t column = 0; column < 4; ++column)
        out.at(n, column) += found[column] / static_cast<double>(trials);
    }
    out.rows.push_back("d_k " + std::to_string(width));
  }
  return out;
}

figure::Curves curves_of(const LessonArray& table, std::int64_t first, std::string title, std::string y_label) {
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

// The wrong way: exp(score - less) of each row divided by its sum, with a fixed `less` instead of the row's maximum.
LessonArray softmax_less(const LessonArray& scores, double less) {
  LessonArray out = scores;
  for (double& number : out.numbers) number = std::exp(number - less);
  const LessonArray sums = row_sums(out);
  for (std::int64_t i = 0; i < out.height(); ++i)
    for (std::int64_t j = 0; j < out.width(); ++j) out.at(i, j) /= sums.numbers[static_cast<std::size_t>(i)];
  return out;
}

void add_saturated(LessonOutput& output, const LessonInput& input, std::int64_t d_k) {
  const LessonArray& large = input.array("large");
  if (large.rank() != 2 || large.height() != 1)
    throw std::invalid_argument("'large' must be one row of scores, [[1, 2, 100]]");
  const LessonArray scaled = times(large, 1 / root_of(d_k));
  const LessonArray weights = softmax_rows(large), calm = softmax_rows(scaled);
  output.arrays.add("large", large);
  output.arrays.add("large_scaled", LessonArray(scaled).from({MadeFrom::By::each, "large"}));
  output.arrays.add("large_gradient", LessonArray::scalar(gradient_norm(weights)));
  output.arrays.add("calm_gradient", LessonArray::scalar(gradient_norm(calm)));
  output.arrays.add("large_weights", LessonArray(weights).from({MadeFrom::By::rows, "large"}));
  output.arrays.add("calm_weights", LessonArray(calm).from({MadeFrom::By::rows, "large_scaled"}));
}

// One query against some keys, by the engine: with the scale and without.
void add_example(LessonOutput& output, std::uint32_t seed, std::int64_t d_k, const std::int64_t keys,
                 ThreadPool& pool) {
  nn::NumpyRandom random(seed);
  const LessonArray q = normal({1, d_k}, random), k = normal({keys, d_k}, random);
  const std::vector<std::string> names = numbered("key ", keys);
  LessonAttention plain = attend(q, k, k, {.scale = 1}, pool), scaled = attend(q, k, k, {}, pool);
  output.arrays.add("dots", std::move(plain.scores).named({}, names));
  output.arrays.add("plain_weights", std::move(plain.weights).named({}, names).from({MadeFrom::By::rows, "dots"}));
  output.arrays.add("scaled", std::move(scaled.scaled).named({}, names).from({MadeFrom::By::each, "dots"}));
  output.arrays.add("weights", std::move(scaled.weights).named({}, names).from({MadeFrom::By::rows, "scaled"}));
}

void add_overflows(LessonOutput& output) {
  const LessonArray high = {{1, 3}, {1000, 1001, 1002}};
  LessonArray powers = high;
  for (double& number : powers.numbers) number = std::exp(number);
  output.arrays.add("high", high);
  output.arrays.add("high_powers", std::move(powers).from({MadeFrom::By::each, "high"}));
  output.arrays.add("high_naive", softmax_less(high, 0).from({MadeFrom::By::each, "high_powers"}));
  output.arrays.add("high_weights", softmax_rows(high).from({MadeFrom::By::rows, "high"}));
  const LessonArray rows = {{2, 2}, {1000, 1001, 1, 2}};
  output.arrays.add("rows", rows);
  output.arrays.add("rows_whole", softmax_less(rows, 1001).from({MadeFrom::By::each, "rows"}));
  output.arrays.add("rows_weights", softmax_rows(rows).from({MadeFrom::By::rows, "rows"}));
}

}  // namespace

LessonOutput why_scale(const LessonInput& input, const LessonWork& work) {
  LessonOutput output;
  const auto seed = static_cast<std::uint32_t>(input.whole("seed"));
  const std::int64_t d_k = input.whole("d_k"), keys = input.whole("keys");
  output.arrays.add("d_k", LessonArray::scalar(static_cast<double>(d_k)));
  output.arrays.add("root", LessonArray::scalar(root_of(d_k)));
  output.arrays.add("keys", LessonArray::scalar(static_cast<double>(keys)));
  const std::int64_t trials = kDraws / keys;  // the same work for any number of keys
  output.arrays.add("trials", LessonArray::scalar(static_cast<double>(trials)));
  output.arrays.add("even", LessonArray::scalar(std::log(static_cast<double>(keys))));
  output.arrays.add("spread", dot_spread(seed, d_k));
  add_saturated(output, input, d_k);
  add_example(output, seed, d_k, keys, work.pool);
  const LessonArray& curves = output.arrays.add("by_width", by_width(seed, keys, trials));
  output.figures.add("entropy", curves_of(curves, 0, "Entropy of the weights", "entropy"));
  output.figures.add("gradient", curves_of(curves, 2, "Gradient through softmax", "gradient norm"));
  add_overflows(output);
  return output;
}

}  // namespace attn::course
