#include "course/compute/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <tuple>

#include "attn/attention.h"
#include "attn/linear.h"
#include "nn/infer/numpy_random.h"
#include "nn/learn/dense.h"

namespace attn::course {

namespace {

const char* way_name(Way way) {
  switch (way) {
    case Way::naive:
      return "naive";
    case Way::fused:
      return "fused";
    case Way::linear:
      return "linear";
    case Way::rnn:
      break;
  }
  return "rnn";
}

// Q = K = V, as in the tutorials that the lesson compares with.
class Runner {
 public:
  Runner(const TimedProblem& problem, ThreadPool& pool)
      : problem_(problem), pool_(pool), x_(problem.batch * problem.n, problem.d), out_(x_.rows(), problem.d) {
    nn::NumpyRandom random(42);
    for (std::int64_t n = 0; n < x_.rows() * x_.columns(); ++n) x_.data()[n] = static_cast<float>(random.normal());
  }

  void run(Way way) {
    const View<float, 4> x(x_.data(), {problem_.batch, 1, problem_.n, problem_.d});
    const View<float, 4> out(out_.data(), x.shape);
    switch (way) {
      case Way::naive:
        return naive();
      case Way::fused:
        return attention({x, x, x}, {}, out, {}, pool_);
      case Way::linear:
        return linear_attention({x, x, x}, {}, out, pool_);
      case Way::rnn:
        return rnn();
    }
  }

 private:
  void naive() {
    nn::Matrix table(problem_.batch * problem_.n, problem_.n);
    for (std::int64_t b = 0; b < problem_.batch; ++b) {
      const View<float, 2> x = part(x_, b), scores = part(table, b);
      nn::dense(nn::Dense{.w = {x, {}}}, x, scores, pool_);
    }
    const float scale = 1 / std::sqrt(static_cast<float>(problem_.d));
    pool_.run(table.rows(), [&](std::int64_t i, int) { softmax(table.row(i), scale); });
    for (std::int64_t b = 0; b < problem_.batch; ++b)
      nn::dense(nn::Dense{.w = {part(x_, b), {}}, .input_first = true}, part(table, b), part(out_, b), pool_);
  }
  void softmax(float* row, float scale) const {
    const float peak = *std::max_element(row, row + problem_.n);
    float sum = 0;
    for (std::int64_t j = 0; j < problem_.n; ++j) sum += row[j] = std::exp(scale * (row[j] - peak));
    for (std::int64_t j = 0; j < problem_.n; ++j) row[j] /= sum;
  }

  // The part from the tokens is one product; the part from the previous state must be computed step by step.
  void rnn() {
    nn::Matrix w(problem_.d, problem_.d);
    for (std::int64_t n = 0; n < problem_.d * problem_.d; ++n)
      w.data()[n] = x_.data()[n % (x_.rows() * problem_.d)] / 16;
    nn::dense(nn::Dense{.w = {w.view(), {}}}, x_.view(), out_.view(), pool_);
    for (std::int64_t i = 0; i < x_.rows(); ++i) {
      float* const state = out_.row(i);
      const float* const before = i % problem_.n == 0 ? nullptr : out_.row(i - 1);
      for (std::int64_t t = 0; before != nullptr && t < problem_.d; ++t)
        for (std::int64_t j = 0; j < problem_.d; ++j) state[j] += before[t] * w.row(t)[j];
      for (std::int64_t j = 0; j < problem_.d; ++j) state[j] = std::tanh(state[j]);
    }
  }

  [[nodiscard]] View<float, 2> part(nn::Matrix& all, std::int64_t b) const {
    return nn::rows_of(all.view(), b * problem_.n, problem_.n);
  }

  TimedProblem problem_;
  ThreadPool& pool_;
  nn::Matrix x_, out_;
};

using Clock = std::chrono::steady_clock;

// From one reading of the clock to the next: tens of nanoseconds, but a tenth of a millisecond in browsers.
double clock_step() {
  const Clock::time_point start = Clock::now();
  Clock::time_point next = start;
  while (next == start) next = Clock::now();
  return std::chrono::duration<double>(next - start).count();
}

Timing measure(Way way, const TimedProblem& problem, const TimingLimits& limits, ThreadPool& pool) {
  constexpr double kSteps = 10;  // a sample takes at least as many steps of the clock: several runs, if they are short
  const auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  Runner runner(problem, pool);
  Timing run_timing;
  Clock::time_point start = Clock::now();
  runner.run(way);  // warm-up: touches memory, wakes threads
  run_timing.first = since(start);
  const double shortest = kSteps * clock_step();
  start = Clock::now();
  double took = 0;
  while (run_timing.runs < limits.runs && took < limits.patience) {
    std::int64_t runs = 0;
    double so_far = took;
    do {
      runner.run(way);
      so_far = since(start);
      ++runs;
    } while (so_far - took < shortest);
    const double one = (so_far - took) / static_cast<double>(runs);
    run_timing.best = run_timing.runs == 0 ? one : std::min(run_timing.best, one);
    took = so_far;
    run_timing.runs += runs;
  }
  run_timing.seconds = took / static_cast<double>(run_timing.runs);
  return run_timing;
}

}  // namespace

Timing run_timing(Way way, const TimedProblem& problem, const TimingLimits& limits, ThreadPool& pool) {
  static std::mutex one_at_a_time;  // concurrent measurements would disturb each other
  static std::map<std::tuple<Way, std::int64_t, std::int64_t, std::int64_t, std::int64_t, int>, Timing> known;
  const std::scoped_lock lock(one_at_a_time);
  const auto [place, is_new] =
      known.try_emplace({way, problem.batch, problem.n, problem.d, limits.runs, pool.threads()});
  if (is_new) place->second = measure(way, problem, limits, pool);
  return place->second;
}

void add_timings(LessonOutput& output, const std::string& name, const Course& course, ThreadPool& pool) {
  const auto lengths = std::ssize(course.lengths);
  LessonArray seconds = LessonArray::zeros({std::ssize(course.ways), lengths});
  figure::Curves curves{.curves = {}, .title = "time", .x_label = "n", .y_label = "milliseconds", .caption = {}};
  curves.log_x = curves.log_y = true;
  for (std::int64_t w = 0; w < seconds.height(); ++w) {
    const Way way = course.ways[static_cast<std::size_t>(w)];
    figure::Curves::Curve curve{.name = way_name(way), .x = course.lengths, .y = {}};
    for (std::int64_t i = 0; i < lengths; ++i) {
      const auto n = static_cast<std::int64_t>(course.lengths[static_cast<std::size_t>(i)]);
      seconds.at(w, i) = run_timing(way, {.n = n, .d = course.d}, {.runs = 5, .patience = 0.05}, pool).best;
      curve.y.push_back(1e3 * seconds.at(w, i));
    }
    seconds.rows.emplace_back(way_name(way));
    curves.curves.push_back(std::move(curve));
  }
  for (const double n : course.lengths) seconds.columns.push_back(std::to_string(std::llround(n)));
  output.figures.add(name, std::move(curves));
  output.measured.add(name, std::move(seconds));
}

}  // namespace attn::course
