// lessons/speed/compute.cc - naive, fused and linear attention: time, memory, and why.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/compute/timing.h"
#include "course/course.h"

namespace attn::course {

namespace {

constexpr Way kAllWays[] = {Way::naive, Way::fused, Way::linear};
constexpr double kMegabyte = 1 << 20;

// Online softmax of one row, a part of the keys at a time: three numbers are kept between parts.
void in_parts(LessonOutput& output, const LessonInput& input) {
  const LessonArray& scores = input.array("scores");
  const LessonArray& values = input.array("values");
  if (scores.rank() != 1 || scores.shape != values.shape)
    throw std::invalid_argument("scores and values must be two lists of equal length, not " + shape_text(scores.shape) +
                                " and " + shape_text(values.shape));
  output.arrays.add("scores", scores);
  output.arrays.add("values", values);
  const auto part = static_cast<std::size_t>(input.whole("part"));
  double peak = -INFINITY, sum = 0, mixed = 0;
  LessonArray kept;
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
  output.arrays.add("kept", std::move(kept));
  LessonArray row = scores;
  row.shape = {1, std::ssize(scores.numbers)};
  const LessonArray weights = softmax_rows(row);
  double whole = 0;
  for (std::size_t j = 0; j < values.numbers.size(); ++j) whole += weights.numbers[j] * values.numbers[j];
  output.arrays.add("whole", LessonArray::scalar(whole));
}

// Memory besides Q, K, V and the output, in MB, for one head in float32.
void memory(LessonOutput& output, const LessonInput& input) {
  const auto d = static_cast<double>(input.whole("d"));
  const std::vector<double> lengths = {256, 1024, 4096, 16384, 65536};
  LessonArray tables = LessonArray::zeros({2, std::ssize(lengths)});
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
  output.figures.add("megabytes",
                     figure::Curves{.curves = {{"naive: n x n", lengths, row(0)}, {"Q alone: n x d", lengths, row(1)}},
                                    .title = "memory of one head",
                                    .x_label = "n",
                                    .y_label = "MB",
                                    .caption = {},
                                    .log_x = true,
                                    .log_y = true});
  output.arrays.add("megabytes", std::move(tables));
  const auto n = static_cast<double>(input.whole("n"));
  output.arrays.add("table_megabytes",
                    LessonArray::scalar(4 * static_cast<double>(input.whole("batch")) * n * n / kMegabyte));
  output.arrays.add("gigabytes", LessonArray::scalar(4.0 * 32768 * 32768 / kMegabyte / 1024));
}

// The difference of fused and naive.
void same(LessonOutput& output, const LessonInput& input, ThreadPool& pool) {
  nn::NumpyRandom random(static_cast<std::uint32_t>(input.whole("seed")));
  const LessonArray q = normal({64, 16}, random), k = normal({64, 16}, random), v = normal({64, 16}, random);
  const LessonAttention fused = attend(q, k, v, {}, pool);
  const LessonArray naive = product(softmax_rows(fused.scaled), v);
  const double difference = largest_difference(fused.result, naive);
  output.arrays.add("difference", LessonArray::scalar(difference));
  output.arrays.add("difference_below", LessonArray::scalar(power_of_ten_above(difference)));
  output.arrays.add("output_start", slice(fused.result, 0));
}

void add_speed_times(LessonOutput& output, const LessonInput& input, ThreadPool& pool) {
  const TimedProblem problem{.batch = input.whole("batch"), .n = input.whole("n"), .d = input.whole("d")};
  const TimingLimits limits{.runs = input.whole("runs"), .patience = 0.7};
  const auto runs = static_cast<double>(limits.runs);
  LessonArray seconds = LessonArray::zeros({3, 3});
  for (std::int64_t w = 0; w < 3; ++w) {
    const Timing one = run_timing(kAllWays[w], problem, limits, pool);
    seconds.at(w, 0) = runs * one.seconds;
    seconds.at(w, 1) = 1e3 * one.seconds;
    seconds.at(w, 2) = 1e3 * one.first;
  }
  output.measured.add("measured_runs",
                      LessonArray::scalar(static_cast<double>(run_timing(Way::naive, problem, limits, pool).runs)));
  output.measured.add("fused_ratio", LessonArray::scalar(seconds.at(0, 0) / seconds.at(1, 0)));
  output.measured.add("linear_ratio", LessonArray::scalar(seconds.at(1, 0) / seconds.at(2, 0)));
  output.measured.add("text_ratio", LessonArray::scalar(seconds.at(0, 0) / seconds.at(2, 0)));
  output.measured.add("raced", std::move(seconds).named({"naive", "fused", "linear"}, {"all s", "one ms", "first ms"}));
  output.measured.add("threads", LessonArray::scalar(pool.threads()));
  const std::vector<double> lengths = {128, 256, 512, 1024, 2048, 4096};
  add_timings(output, "seconds", {.ways = kAllWays, .lengths = lengths, .d = problem.d}, pool);
  const LessonArray& curves = *output.measured.find("seconds");
  LessonArray growth = LessonArray::zeros({3});
  for (std::int64_t w = 0; w < 3; ++w) growth.numbers[static_cast<std::size_t>(w)] = curves.at(w, 5) / curves.at(w, 4);
  output.measured.add("growth", std::move(growth));
}

}  // namespace

LessonOutput speed(const LessonInput& input, const LessonWork& work) {
  LessonOutput output;
  for (const char* name : {"n", "d", "batch", "runs"})
    output.arrays.add(name, LessonArray::scalar(static_cast<double>(input.whole(name))));
  add_speed_times(output, input, work.pool);
  in_parts(output, input);
  memory(output, input);
  same(output, input, work.pool);
  return output;
}

}  // namespace attn::course
