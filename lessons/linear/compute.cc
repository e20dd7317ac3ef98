// lessons/linear/compute.cc - phi(Q) (phi(K)^T V): the same products in another order, and no table.
#include <algorithm>
#include <cmath>

#include "attn/linear.h"
#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/compute/timing.h"
#include "course/course.h"

namespace attn::lesson {

namespace {

Array each(Array x, double (*f)(double)) {
  for (double& number : x.numbers) number = f(number);
  return x;
}

// phi(Q) phi(K)^T with rows that sum to 1; causal: of keys up to the query.
Array shares_of(const Array& phi_q, const Array& phi_k, bool causal) {
  Array out = transposed(phi_q, phi_k);
  for (std::int64_t i = 0; i < out.height(); ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < out.width(); ++j) sum += out.at(i, j) *= causal && j > i ? 0 : 1;
    for (std::int64_t j = 0; j < out.width(); ++j) out.at(i, j) /= sum;
  }
  return out;
}

// By the engine.
Array linear_of(const Array& q, const Array& k, const Array& v, const LinearOptions& options, ThreadPool& pool) {
  nn::Matrix queries = q.matrix(), keys = k.matrix(), values = v.matrix(), out(q.height(), v.width());
  const auto view = [](nn::Matrix& x) { return View<float, 4>(x.data(), {1, 1, x.rows(), x.columns()}); };
  linear_attention({view(queries), view(keys), view(values)}, options, view(out), pool);
  return Array::of(out);
}

void add_difference(Told& told, const std::string& name, double difference) {
  told.arrays.add(name, Array::scalar(difference));
  told.arrays.add(name + "_below", Array::scalar(power_of_ten_above(difference)));
}

double elu_plus_one(double x) { return x > 0 ? x + 1 : std::exp(x); }

// exp(x) and exp(-x), twice as wide as x: a feature map of the reader's own would stand here.
Array both_powers(const Array& x) {
  Array out = Array::zeros({x.height(), 2 * x.width()});
  for (std::int64_t i = 0; i < x.height(); ++i)
    for (std::int64_t j = 0; j < x.width(); ++j) {
      out.at(i, j) = std::exp(x.at(i, j));
      out.at(i, x.width() + j) = std::exp(-x.at(i, j));
    }
  return out;
}

struct Given3 {
  Array q, k, v;
  std::vector<std::string> names;
};

// The short way, with everything on it, and the long way.
void steps(Told& told, const Given3& x, ThreadPool& pool) {
  const Array phi_q = told.arrays.add("phi_Q", each(x.q, elu_plus_one).named(x.names, {}).from({Made::By::each, "Q"}));
  const Array phi_k = told.arrays.add("phi_K", each(x.k, elu_plus_one).named(x.names, {}).from({Made::By::each, "K"}));
  const Array keys = told.arrays.add("phi_K_T", flipped(phi_k).named({}, x.names));
  const Array& s = told.arrays.add("S", product(keys, x.v).from({Made::By::product, "phi_K_T", "V"}));
  const Array& z = told.arrays.add("z", row_sums(keys));
  told.arrays.add("mixed", product(phi_q, s).named(x.names, {}).from({Made::By::product, "phi_Q", "S"}));
  Array column = z;
  column.shape = {x.q.width(), 1};
  Array divisor = product(phi_q, column);
  divisor.shape = {phi_q.height()};
  told.arrays.add("divisor", std::move(divisor));
  const Array& output =
      told.arrays.add("output", linear_of(x.q, x.k, x.v, {}, pool).named(x.names, {}).from({Made::By::each, "mixed"}));

  told.arrays.add("kernel",
                  transposed(phi_q, phi_k).named(x.names, x.names).from({Made::By::transposed, "phi_Q", "phi_K"}));
  const Array& shares = told.arrays.add(
      "shares", shares_of(phi_q, phi_k, false).named(x.names, x.names).from({Made::By::each, "kernel"}));
  const Array& quadratic = told.arrays.add(
      "quadratic_output", product(shares, x.v).named(x.names, {}).from({Made::By::product, "shares", "V"}));
  add_difference(told, "difference", largest_difference(output, quadratic));

  Attended soft = attend(x.q, x.k, x.v, {}, pool);
  told.arrays.add("softmax_difference", Array::scalar(largest_difference(output, soft.output)));
  told.arrays.add("softmax_peak", Array::scalar(std::ranges::max(soft.weights.numbers)));
  told.arrays.add("linear_peak", Array::scalar(std::ranges::max(shares.numbers)));
  figure::Grid grid{.panels = {}, .columns = 2, .title = {}, .caption = {}, .shade = {.cmap = "Blues"}};
  grid.panels.push_back(heatmap_of(soft.weights, "softmax"));
  grid.panels.push_back(heatmap_of({shares.shape, shares.numbers}, "elu + 1"));
  told.figures.add("two", std::move(grid));
  told.arrays.add("softmax_weights", std::move(soft.weights).named(x.names, x.names));
}

void add_causal(Told& told, const Given3& x, ThreadPool& pool) {
  LinearOptions options;
  options.causal = true;
  const Array shares = shares_of(each(x.q, elu_plus_one), each(x.k, elu_plus_one), true);
  const Array& output = told.arrays.add("causal_output", linear_of(x.q, x.k, x.v, options, pool).named(x.names, {}));
  add_difference(told, "causal_difference", largest_difference(output, product(shares, x.v)));
  told.arrays.add("causal_shares", Array(shares).named(x.names, x.names));
}

void own(Told& told, const Given3& x, ThreadPool& pool) {
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
  const Array& output = told.arrays.add("own_output", linear_of(x.q, x.k, x.v, options, pool).named(x.names, {}));
  const Array shares = shares_of(both_powers(x.q), both_powers(x.k), false);
  add_difference(told, "own_difference", largest_difference(output, product(shares, x.v)));
}

void add_linear_times(Told& told, const Given& given, ThreadPool& pool) {
  const Problem problem{.batch = given.whole("batch"), .n = given.whole("long_n"), .d = given.whole("wide_d")};
  const Heats heats{.runs = given.whole("runs"), .patience = 0.7};
  for (const auto& [name, number] :
       {std::pair{"long_n", problem.n}, {"wide_d", problem.d}, {"batch", problem.batch}, {"runs", heats.runs}})
    told.arrays.add(name, Array::scalar(static_cast<double>(number)));
  const Race standard = race(Way::fused, problem, heats, pool), fast = race(Way::linear, problem, heats, pool);
  const auto runs = static_cast<double>(heats.runs);
  told.measured.add("measured_runs", Array::scalar(static_cast<double>(standard.runs)));
  told.measured.add("standard_seconds", Array::scalar(runs * standard.seconds));
  told.measured.add("linear_seconds", Array::scalar(runs * fast.seconds));
  told.measured.add("ratio", Array::scalar(standard.seconds / fast.seconds));
  constexpr Way kWays[] = {Way::fused, Way::linear};
  add_race(told, "seconds", {.ways = kWays, .lengths = {256, 512, 1024, 2048, 4096}, .d = problem.d}, pool);
  told.arrays.add("fewer", Array::scalar(static_cast<double>(problem.n) / static_cast<double>(problem.d)));
}

}  // namespace

Told linear(const Given& given, const Work& work) {
  Told told;
  const std::int64_t n = given.whole("n"), d = given.whole("d");
  nn::NumpyRandom random(static_cast<std::uint32_t>(given.whole("seed")));
  Given3 x{
      .q = normal({n, d}, random), .k = normal({n, d}, random), .v = normal({n, d}, random), .names = numbered("x", n)};
  told.arrays.add("n", Array::scalar(static_cast<double>(n)));
  told.arrays.add("d", Array::scalar(static_cast<double>(d)));
  told.arrays.add("Q", Array(x.q).named(x.names, {}));
  told.arrays.add("K", Array(x.k).named(x.names, {}));
  told.arrays.add("V", Array(x.v).named(x.names, {}));
  steps(told, x, work.pool);
  add_causal(told, x, work.pool);
  own(told, x, work.pool);
  add_linear_times(told, given, work.pool);
  return told;
}

}  // namespace attn::lesson
