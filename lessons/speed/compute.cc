// lessons/speed/compute.cc - naive, fused and linear attention: how long, how much memory, and why.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/compute/timing.h"
#include "course/course.h"

namespace attn::lesson {

namespace {

constexpr Way kAllWays[] = {Way::naive, Way::fused, Way::linear};
constexpr double kMegabyte = 1 << 20;

// Softmax and mixture of one row, a part of the keys at a time: what is kept between parts are three numbers.
void in_parts(Told& told, const Given& given) {
  const Array& scores = given.array("scores");
  const Array& values = given.array("values");
  if (scores.rank() != 1 || scores.shape != values.shape)
    throw std::invalid_argument("scores and values are two lists of one length, not " + shape_text(scores.shape) +
                                " and " + shape_text(values.shape));
  told.arrays.add("scores", scores);
  told.arrays.add("values", values);
  const auto part = static_cast<std::size_t>(given.whole("part"));
  double peak = -INFINITY, sum = 0, mixed = 0;
  Array kept;
  for (std::size_t first = 0; first < scores.numbers.size(); first += part) {
    const std::size_t end = std::min(first + part, scores.numbers.size());
    double highest = peak;
    for (std::size_t j = first; j < end; ++j) highest = std::max(highest, scores.numbers[j]);
    const double shrink = std::exp(peak - highest);
    sum *= shrink;
    mixed *= shrink;
    peak = highest;
    for (std::size_t j = first; j < end; ++j) {
      sum += std::exp(scores.numbers[j] - peak);
      mixed += std::exp(scores.numbers[j] - peak) * values.numbers[j];
    }
    kept.numbers.insert(kept.numbers.end(), {peak, sum, mixed, mixed / sum});
    kept.rows.push_back("keys " + std::to_string(first) + "-" + std::to_string(end - 1));
  }
  kept.shape = {std::ssize(kept.rows), 4};
  kept.columns = {"max", "sum", "mixed", "output"};
  told.arrays.add("kept", std::move(kept));
  Array row = scores;
  row.shape = {1, std::ssize(scores.numbers)};
  const Array weights = softmax_rows(row);
  double whole = 0;
  for (std::size_t j = 0; j < values.numbers.size(); ++j) whole += weights.numbers[j] * values.numbers[j];
  told.arrays.add("whole", Array::scalar(whole));
}

// What has to lie in memory at once beside Q, K, V and the output, in MB, for one head of float32.
void memory(Told& told, const Given& given) {
  const auto d = static_cast<double>(given.whole("d"));
  const std::vector<double> lengths = {256, 1024, 4096, 16384, 65536};
  Array tables = Array::zeros({2, std::ssize(lengths)});
  for (std::int64_t i = 0; i < std::ssize(lengths); ++i) {
    const double n = lengths[static_cast<std::size_t>(i)];
    tables.at(0, i) = 4 * n * n / kMegabyte;
    tables.at(1, i) = 4 * n * d / kMegabyte;
    tables.columns.push_back(std::to_string(std::llround(n)));
  }
  tables.rows = {"n x n", "n x d"};
  const auto row = [&](std::int64_t w) {
    const auto first = tables.numbers.begin() + w * std::ssize(lengths);
    return std::vector<double>(first, first + std::ssize(lengths));
  };
  told.figures.add("megabytes",
                   figure::Curves{.curves = {{"naive: n x n", lengths, row(0)}, {"Q alone: n x d", lengths, row(1)}},
                                  .title = "memory of one head",
                                  .x_label = "n",
                                  .y_label = "MB",
                                  .caption = {},
                                  .log_x = true,
                                  .log_y = true});
  told.arrays.add("megabytes", std::move(tables));
  const auto n = static_cast<double>(given.whole("n"));
  told.arrays.add("table_megabytes", Array::scalar(4 * static_cast<double>(given.whole("batch")) * n * n / kMegabyte));
  told.arrays.add("gigabytes", Array::scalar(4.0 * 32768 * 32768 / kMegabyte / 1024));
}

// Fused and naive give the same numbers.
void same(Told& told, const Given& given, ThreadPool& pool) {
  nn::NumpyRandom random(static_cast<std::uint32_t>(given.whole("seed")));
  const Array q = normal({64, 16}, random), k = normal({64, 16}, random), v = normal({64, 16}, random);
  const Attended fused = attend(q, k, v, {}, pool);
  const Array naive = product(softmax_rows(fused.scaled), v);
  const double difference = largest_difference(fused.output, naive);
  told.arrays.add("difference", Array::scalar(difference));
  told.arrays.add("difference_below", Array::scalar(power_of_ten_above(difference)));
  told.arrays.add("output_start", slice(fused.output, 0));
}

void add_speed_times(Told& told, const Given& given, ThreadPool& pool) {
  const Problem problem{.batch = given.whole("batch"), .n = given.whole("n"), .d = given.whole("d")};
  const Heats heats{.runs = given.whole("runs"), .patience = 0.7};
  const auto runs = static_cast<double>(heats.runs);
  Array seconds = Array::zeros({3, 3});
  for (std::int64_t w = 0; w < 3; ++w) {
    const Race one = race(kAllWays[w], problem, heats, pool);
    seconds.at(w, 0) = runs * one.seconds;
    seconds.at(w, 1) = 1e3 * one.seconds;
    seconds.at(w, 2) = 1e3 * one.first;
  }
  told.measured.add("measured_runs", Array::scalar(static_cast<double>(race(Way::naive, problem, heats, pool).runs)));
  told.measured.add("fused_ratio", Array::scalar(seconds.at(0, 0) / seconds.at(1, 0)));
  told.measured.add("linear_ratio", Array::scalar(seconds.at(1, 0) / seconds.at(2, 0)));
  told.measured.add("text_ratio", Array::scalar(seconds.at(0, 0) / seconds.at(2, 0)));
  told.measured.add("raced", std::move(seconds).named({"naive", "fused", "linear"}, {"all s", "one ms", "first ms"}));
  told.measured.add("threads", Array::scalar(pool.threads()));
  const std::vector<double> lengths = {128, 256, 512, 1024, 2048, 4096};
  add_race(told, "seconds", {.ways = kAllWays, .lengths = lengths, .d = problem.d}, pool);
  const Array& curves = *told.measured.find("seconds");
  Array growth = Array::zeros({3});
  for (std::int64_t w = 0; w < 3; ++w) growth.numbers[static_cast<std::size_t>(w)] = curves.at(w, 5) / curves.at(w, 4);
  told.measured.add("growth", std::move(growth));
}

}  // namespace

Told speed(const Given& given, const Work& work) {
  Told told;
  for (const char* name : {"n", "d", "batch", "runs"})
    told.arrays.add(name, Array::scalar(static_cast<double>(given.whole(name))));
  add_speed_times(told, given, work.pool);
  in_parts(told, given);
  memory(told, given);
  same(told, given, work.pool);
  return told;
}

}  // namespace attn::lesson
