// lessons/linear/compute.cc - phi(Q) (phi(K)^T V): the same products in another order, without a table.
#include <algorithm>
#include <cmath>

#include "attn/linear.h"
#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/compute/timing.h"
#include "course/course.h"

namespace attn::course {

namespace {

LessonArray each(LessonArray x, double (*f)(double)) {
  for (double& number : x.numbers) number = f(number);
  return x;
}

// phi(Q) phi(K)^T with rows that sum to 1; causal: over keys up to the query.
LessonArray shares_of(const LessonArray& phi_q, const LessonArray& phi_k, bool causal) {
  LessonArray out = transposed(phi_q, phi_k);
  for (std::int64_t i = 0; i < out.height(); ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < out.width(); ++j) sum += out.at(i, j) *= causal && j > i ? 0 : 1;
    for (std::int64_t j = 0; j < out.width(); ++j) out.at(i, j) /= sum;
  }
  return out;
}

// By the engine.
LessonArray linear_of(const LessonArray& q, const LessonArray& k, const LessonArray& v, const LinearOptions& options,
                      ThreadPool& pool) {
  nn::Matrix queries = q.matrix(), keys = k.matrix(), values = v.matrix(), out(q.height(), v.width());
  const auto view = [](nn::Matrix& x) { return View<float, 4>(x.data(), {1, 1, x.rows(), x.columns()}); };
  linear_attention({view(queries), view(keys), view(values)}, options, view(out), pool);
  return LessonArray::of(out);
}

void add_difference(LessonOutput& output, const std::string& name, double difference) {
  output.arrays.add(name, LessonArray::scalar(difference));
  output.arrays.add(name + "_below", LessonArray::scalar(power_of_ten_above(difference)));
}

double elu_plus_one(double x) { return x > 0 ? x + 1 : std::exp(x); }

// exp(x) and exp(-x), twice as wide as x: an example of a custom feature map.
LessonArray both_powers(const LessonArray& x) {
  LessonArray out = LessonArray::zeros({x.height(), 2 * x.width()});
  for (std::int64_t i = 0; i < x.height(); ++i)
    for (std::int64_t j = 0; j < x.width(); ++j) {
      out.at(i, j) = std::exp(x.at(i, j));
      out.at(i, x.width() + j) = std::exp(-x.at(i, j));
    }
  return out;
}

struct Given3 {
  LessonArray q, k, v;
  std::vector<std::string> names;
};

// The linear order with every step, and the quadratic order.
void steps(LessonOutput& output, const Given3& x, ThreadPool& pool) {
  const LessonArray phi_q =
      output.arrays.add("phi_Q", each(x.q, elu_plus_one).named(x.names, {}).from({MadeFrom::By::each, "Q"}));
  const LessonArray phi_k =
      output.arrays.add("phi_K", each(x.k, elu_plus_one).named(x.names, {}).from({MadeFrom::By::each, "K"}));
  const LessonArray keys = output.arrays.add("phi_K_T", flipped(phi_k).named({}, x.names));
  const LessonArray& s = output.arrays.add("S", product(keys, x.v).from({MadeFrom::By::product, "phi_K_T", "V"}));
  const LessonArray& z = output.arrays.add("z", row_sums(keys));
  output.arrays.add("mixed", product(phi_q, s).named(x.names, {}).from({MadeFrom::By::product, "phi_Q", "S"}));
  LessonArray column = z;
  column.shape = {x.q.width(), 1};
  LessonArray divisor = product(phi_q, column);
  divisor.shape = {phi_q.height()};
  output.arrays.add("divisor", std::move(divisor));
  const LessonArray& result = output.arrays.add(
      "output", linear_of(x.q, x.k, x.v, {}, pool).named(x.names, {}).from({MadeFrom::By::each, "mixed"}));

  output.arrays.add(
      "kernel", transposed(phi_q, phi_k).named(x.names, x.names).from({MadeFrom::By::transposed, "phi_Q", "phi_K"}));
  const LessonArray& shares = output.arrays.add(
      "shares", shares_of(phi_q, phi_k, false).named(x.names, x.names).from({MadeFrom::By::each, "kernel"}));
  const LessonArray& quadratic = output.arrays.add(
      "quadratic_output", product(shares, x.v).named(x.names, {}).from({MadeFrom::By::product, "shares", "V"}));
  add_difference(output, "difference", largest_difference(result, quadratic));

  LessonAttention soft = attend(x.q, x.k, x.v, {}, pool);
  output.arrays.add("softmax_difference", LessonArray::scalar(largest_difference(result, soft.result)));
  output.arrays.add("softmax_peak", LessonArray::scalar(std::ranges::max(soft.weights.numbers)));
  output.arrays.add("linear_peak", LessonArray::scalar(std::ranges::max(shares.numbers)));
  figure::Grid grid{.panels = {}, .columns = 2, .title = {}, .caption = {}, .shade = {.cmap = "Blues"}};
  grid.panels.push_back(heatmap_of(soft.weights, "softmax"));
  grid.panels.push_back(heatmap_of({shares.shape, shares.numbers}, "elu + 1"));
  output.figures.add("two", std::move(grid));
  output.arrays.add("softmax_weights", std::move(soft.weights).named(x.names, x.names));
}

void add_causal(LessonOutput& output, const Given3& x, ThreadPool& pool) {
  LinearOptions options;
  options.causal = true;
  const LessonArray shares = shares_of(each(x.q, elu_plus_one), each(x.k, elu_plus_one), true);
  const LessonArray& result =
      output.arrays.add("causal_output", linear_of(x.q, x.k, x.v, options, pool).named(x.names, {}));
  add_difference(output, "causal_difference", largest_difference(result, product(shares, x.v)));
  output.arrays.add("causal_shares", LessonArray(shares).named(x.names, x.names));
}

void own(LessonOutput& output, const Given3& x, ThreadPool& pool) {
  const std::int64_t width = x.q.width();
  const FeatureMap map{.map =
                           [width](const float* from, float* phi) {
                             for (std::int64_t j = 0; j < width; ++j) {
                               phi[j] = std::exp(from[j]);
                               phi[width + j] = std::exp(-from[j]);
                             }
                           },
                       .width = 2 * width};
  LinearOptions options;
  options.map = &map;
  const LessonArray& result =
      output.arrays.add("own_output", linear_of(x.q, x.k, x.v, options, pool).named(x.names, {}));
  const LessonArray shares = shares_of(both_powers(x.q), both_powers(x.k), false);
  add_difference(output, "own_difference", largest_difference(result, product(shares, x.v)));
}

void add_linear_times(LessonOutput& output, const LessonInput& input, ThreadPool& pool) {
  const TimedProblem problem{.batch = input.whole("batch"), .n = input.whole("long_n"), .d = input.whole("wide_d")};
  const TimingLimits limits{.runs = input.whole("runs"), .patience = 0.7};
  for (const auto& [name, number] :
       {std::pair{"long_n", problem.n}, {"wide_d", problem.d}, {"batch", problem.batch}, {"runs", limits.runs}})
    output.arrays.add(name, LessonArray::scalar(static_cast<double>(number)));
  const Timing standard = run_timing(Way::fused, problem, limits, pool),
               fast = run_timing(Way::linear, problem, limits, pool);
  const auto runs = static_cast<double>(limits.runs);
  output.measured.add("measured_runs", LessonArray::scalar(static_cast<double>(standard.runs)));
  output.measured.add("standard_seconds", LessonArray::scalar(runs * standard.seconds));
  output.measured.add("linear_seconds", LessonArray::scalar(runs * fast.seconds));
  output.measured.add("ratio", LessonArray::scalar(standard.seconds / fast.seconds));
  constexpr Way kWays[] = {Way::fused, Way::linear};
  add_timings(output, "seconds", {.ways = kWays, .lengths = {256, 512, 1024, 2048, 4096}, .d = problem.d}, pool);
  output.arrays.add("fewer", LessonArray::scalar(static_cast<double>(problem.n) / static_cast<double>(problem.d)));
}

}  // namespace

LessonOutput linear(const LessonInput& input, const LessonWork& work) {
  LessonOutput output;
  const std::int64_t n = input.whole("n"), d = input.whole("d");
  nn::NumpyRandom random(static_cast<std::uint32_t>(input.whole("seed")));
  Given3 x{
      .q = normal({n, d}, random), .k = normal({n, d}, random), .v = normal({n, d}, random), .names = numbered("x", n)};
  output.arrays.add("n", LessonArray::scalar(static_cast<double>(n)));
  output.arrays.add("d", LessonArray::scalar(static_cast<double>(d)));
  output.arrays.add("Q", LessonArray(x.q).named(x.names, {}));
  output.arrays.add("K", LessonArray(x.k).named(x.names, {}));
  output.arrays.add("V", LessonArray(x.v).named(x.names, {}));
  steps(output, x, work.pool);
  add_causal(output, x, work.pool);
  own(output, x, work.pool);
  add_linear_times(output, input, work.pool);
  return output;
}

}  // namespace attn::course
