// lessons/relative-position/compute.cc - biases by the distance of a key: a learned table, T5's buckets, ALiBi.
#include <algorithm>
#include <cmath>

#include "attn/backward.h"
#include "attn/bias.h"
#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/course.h"

namespace attn::course {

namespace {

constexpr std::int64_t kWidth = 8, kTokens = 16;
constexpr std::int64_t kLooksAt[] = {-1, 1, 0, -2};  // the distance of the key that head h learns

std::int64_t row_of(std::int64_t distance, std::int64_t reach) { return std::clamp(distance, -reach, reach) + reach; }

std::int64_t target_of(std::int64_t head, std::int64_t i) { return i + kLooksAt[head % std::ssize(kLooksAt)]; }

// [H, N, N] of a bias by distance.
LessonArray bias_tables(const DistanceBias& bias, std::int64_t heads, std::int64_t n) {
  LessonArray out = LessonArray::zeros({heads, n, n});
  std::size_t next = 0;
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) out.numbers[next++] = static_cast<double>(bias.view()(h, j - i + n - 1));
  return std::move(out).named(numbered("", n), numbered("", n));
}

LessonArray with_batch(LessonArray array) {
  array.shape.insert(array.shape.begin(), 1);
  return array;
}

// [H, N, N]
LessonArray weights_with(const LessonArray& x, View<const float, 2> bias, ThreadPool& pool) {
  Options options;
  options.bias = bias;
  LessonArray weights = slice(attend_many(with_batch(x), with_batch(x), with_batch(x), options, pool).weights, 0);
  return std::move(weights).named(numbered("", x.shape[1]), numbered("", x.shape[1]));
}

void index(LessonOutput& output, std::int64_t n, std::int64_t reach) {
  LessonArray distance = LessonArray::zeros({n, n}), row = distance;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      distance.at(i, j) = static_cast<double>(j - i);
      row.at(i, j) = static_cast<double>(row_of(j - i, reach));
    }
  const std::vector<std::string> names = numbered("", n);
  output.arrays.add("distance", std::move(distance).named(names, names));
  output.arrays.add("index", std::move(row).named(names, names).from({MadeFrom::By::each, "distance"}));
  LessonArray far = LessonArray::vector({-40, -32, -1, 0, 1, 32, 40}), rows = far;
  for (double& number : rows.numbers) number = static_cast<double>(row_of(static_cast<std::int64_t>(number), reach));
  output.arrays.add("far", far);
  for (const double number : far.numbers) rows.columns.push_back(std::to_string(std::llround(number)));
  output.arrays.add("far_index", std::move(rows).from({MadeFrom::By::each, "far"}));
  output.arrays.add("question_index", LessonArray::scalar(static_cast<double>(row_of(-5, reach))));
}

// A random table, its bias, and the effect on the weights; and what happens if the batch axis is in the place of the
// heads.
void show_bias(LessonOutput& output, const LessonInput& input, ThreadPool& pool) {
  const std::int64_t n = input.whole("n"), heads = input.whole("heads"), reach = input.whole("reach");
  nn::NumpyRandom random(static_cast<std::uint32_t>(input.whole("seed")));
  const LessonArray table = normal({2 * reach + 1, heads}, random), x = times(normal({heads, n, kWidth}, random), 0.5);
  const nn::Matrix numbers = table.matrix();
  const DistanceBias by_distance = clamped_relative(numbers.view(), {n, n});
  LessonArray bias = bias_tables(by_distance, heads, n);
  figure::Heatmap picture = heatmap_of(slice(bias, 0), "bias of head 0", {.cmap = "RdBu"});
  picture.bar_label = "bias";
  output.figures.add("bias", std::move(picture));
  output.arrays.add("table", table);
  output.arrays.add("bias", std::move(bias));
  output.arrays.add("plain_weights", weights_with(x, {}, pool));
  const LessonArray& biased = output.arrays.add("biased_weights", weights_with(x, by_distance.view(), pool));
  output.arrays.add("mixed_weights", with_batch(biased));
}

struct Learning {
  LessonArray q, k, v, target, counted;  // [H, N, D]; counted [H, N]: whether there is a key at that distance
  double count = 0;
};

Learning task_of(const LessonInput& input) {
  const std::int64_t heads = input.whole("heads");
  nn::NumpyRandom random(static_cast<std::uint32_t>(input.whole("seed")));
  Learning task;
  task.q = times(normal({heads, kTokens, kWidth}, random), 0.5);
  task.k = times(normal({heads, kTokens, kWidth}, random), 0.5);
  task.v = normal({heads, kTokens, kWidth}, random);
  task.target = LessonArray::zeros(task.v.shape);
  task.counted = LessonArray::zeros({heads, kTokens});
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t i = 0; i < kTokens; ++i) {
      const std::int64_t j = target_of(h, i);
      if (j < 0 || j >= kTokens) continue;
      task.counted.at(h, i) = 1;
      task.count += 1;
      std::copy_n(task.v.numbers.begin() + (h * kTokens + j) * kWidth, kWidth,
                  task.target.numbers.begin() + (h * kTokens + i) * kWidth);
    }
  return task;
}

// One forward and backward step: the loss, and its gradient for every row of the table.
class RelativePass {
 public:
  RelativePass(const Learning& task, ThreadPool& pool)
      : task_(task), pool_(pool), q_(task.q.matrix()), k_(task.k.matrix()), v_(task.v.matrix()) {}

  double loss(const nn::Matrix& table, nn::Matrix& gradient) {
    const DistanceBias bias = clamped_relative(table.view(), {kTokens, kTokens});
    Options options;
    options.bias = bias.view();
    attention(inputs(), options, of(out_), lse(), of_table(weights_), pool_);
    const double mean = 1 / (task_.count * kWidth);
    double loss = 0;
    for (std::int64_t n = 0; n < std::ssize(task_.target.numbers); ++n) {
      const auto place = static_cast<std::size_t>(n);
      const double miss =
          task_.counted.numbers[place / kWidth] * (static_cast<double>(out_.data()[n]) - task_.target.numbers[place]);
      loss += mean * miss * miss;
      d_out_.data()[n] = static_cast<float>(2 * mean * miss);
    }
    nn::Matrix d_bias(table.columns(), 2 * kTokens - 1);
    attention_backward(inputs(), options, {of(out_), lse(), of(d_out_)},
                       {.dq = of(dq_), .dk = of(dk_), .dv = of(dv_), .d_bias = d_bias.view(), .d_sink = {}}, pool_);
    std::fill_n(gradient.data(), gradient.rows() * gradient.columns(), 0.0F);
    const std::int64_t reach = table.rows() / 2;
    for (std::int64_t h = 0; h < table.columns(); ++h)
      for (std::int64_t n = 0; n < d_bias.columns(); ++n)
        gradient.row(row_of(bias.distance(n), reach))[h] += d_bias.row(h)[n];
    return loss;
  }
  [[nodiscard]] LessonArray weights() const {
    LessonArray table = LessonArray::of(weights_);
    table.shape = {heads(), kTokens, kTokens};
    return std::move(table).named(numbered("", kTokens), numbered("", kTokens));
  }

 private:
  [[nodiscard]] std::int64_t heads() const { return task_.q.shape[0]; }
  [[nodiscard]] nn::Matrix rows() const { return {heads() * kTokens, kWidth}; }
  [[nodiscard]] View<float, 4> of(nn::Matrix& x) const { return {x.data(), {1, heads(), kTokens, kWidth}}; }
  [[nodiscard]] View<float, 4> of_table(nn::Matrix& x) const { return {x.data(), {1, heads(), kTokens, kTokens}}; }
  [[nodiscard]] View<float, 3> lse() { return {lse_.data(), {1, heads(), kTokens}}; }
  [[nodiscard]] Inputs inputs() { return {of(q_), of(k_), of(v_)}; }

  const Learning& task_;
  ThreadPool& pool_;
  nn::Matrix q_, k_, v_, out_ = rows(), d_out_ = rows(), dq_ = rows(), dk_ = rows(), dv_ = rows();
  nn::Matrix lse_ = {heads(), kTokens}, weights_ = {heads() * kTokens, kTokens};
};

// Rows of the table near distance 0, with their distances as names.
LessonArray near(const LessonArray& table, std::int64_t reach) {
  const std::int64_t far = std::min<std::int64_t>(reach, 4);
  LessonArray out = LessonArray::zeros({2 * far + 1, table.width()});
  for (std::int64_t d = -far; d <= far; ++d) {
    out.rows.push_back(std::to_string(d));
    for (std::int64_t h = 0; h < table.width(); ++h) out.at(d + far, h) = table.at(d + reach, h);
  }
  out.columns = numbered("head ", table.width());
  return out;
}

void learn(LessonOutput& output, const LessonInput& input, ThreadPool& pool) {
  const std::int64_t reach = input.whole("reach"), heads = input.whole("heads"), steps = input.whole("steps");
  const auto rate = static_cast<float>(input.real("rate"));
  const Learning task = task_of(input);
  RelativePass pass(task, pool);
  nn::Matrix table(2 * reach + 1, heads), gradient(2 * reach + 1, heads);
  std::fill_n(table.data(), table.rows() * table.columns(), 0.0F);
  std::vector<double> losses, places;
  for (std::int64_t step = 0; step <= steps; ++step) {
    losses.push_back(pass.loss(table, gradient));
    places.push_back(static_cast<double>(step));
    if (step == 0) output.arrays.add("gradient", LessonArray::of(gradient));
    for (std::int64_t n = 0; step < steps && n < table.rows() * heads; ++n)
      table.data()[n] -= rate * gradient.data()[n];
  }
  const LessonArray learned = LessonArray::of(table), first = near(*output.arrays.find("gradient"), reach),
                    rows = near(learned, reach);
  output.arrays.add("steps", LessonArray::scalar(static_cast<double>(steps)));
  output.arrays.add("first_gradient", first);
  output.arrays.add("near", rows);
  output.figures.add("loss", figure::Curves{.curves = {{"loss", places, losses}},
                                            .title = "only the table learns",
                                            .x_label = "step",
                                            .y_label = "loss",
                                            .caption = {},
                                            .log_y = true});
  output.arrays.add("losses", LessonArray::vector(std::move(losses)));
  std::int64_t unused = 0;
  for (std::int64_t row = 0; row < learned.height(); ++row)
    unused += std::ranges::all_of(slice(learned, row).numbers, [](double number) { return number == 0; }) ? 1 : 0;
  output.arrays.add("unused", LessonArray::scalar(static_cast<double>(unused)));
  output.arrays.add("learned", learned);
  const LessonArray weights = pass.weights();
  output.figures.add("looks_back",
                     heatmap_of(slice(weights, 0), "head 0", {.cmap = "Blues", .range = figure::Range{0, 1}}));
  output.arrays.add("learned_weights", weights);
}

void t5(LessonOutput& output) {
  LessonArray distances = LessonArray::vector({-200, -128, -64, -16, -8, -7, -1, 0, 1, 7, 8, 16, 64, 128, 200});
  LessonArray buckets = LessonArray::zeros({std::ssize(distances.numbers), 1});
  for (std::int64_t n = 0; n < buckets.height(); ++n) {
    const std::int64_t distance = std::llround(distances.numbers[static_cast<std::size_t>(n)]);
    buckets.rows.push_back(std::to_string(distance));
    buckets.at(n, 0) = static_cast<double>(t5_bucket(distance, {}));
  }
  buckets.columns = {"bucket"};
  figure::Curves::Curve curve{.name = "bucket", .x = {}, .y = {}};
  for (std::int64_t d = -160; d <= 160; ++d) {
    curve.x.push_back(static_cast<double>(d));
    curve.y.push_back(static_cast<double>(t5_bucket(d, {})));
  }
  output.figures.add("buckets", figure::Curves{.curves = {std::move(curve)},
                                               .title = "T5: 32 buckets",
                                               .x_label = "distance",
                                               .y_label = "bucket",
                                               .caption = {}});
  output.arrays.add("t5_distances", std::move(distances));
  output.arrays.add("t5_buckets", std::move(buckets));
}

void alibi_of(LessonOutput& output, const LessonInput& input, ThreadPool& pool) {
  const std::int64_t n = input.whole("n"), heads = input.whole("heads");
  const std::vector<float> slopes = alibi_slopes(heads);
  output.arrays.add("slopes", LessonArray::vector({slopes.begin(), slopes.end()}));
  const DistanceBias bias = alibi(heads, {.queries = 1, .keys = n, .query_offset = n - 1});
  LessonArray last = LessonArray::zeros({heads, n});
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t j = 0; j < n; ++j) last.at(h, j) = static_cast<double>(bias.view()(h, j)) + 0.0;
  output.arrays.add("alibi_last", std::move(last).named(numbered("head ", heads), numbered("", n)));
  // Equal scores, so that only the distance matters.
  Options options;
  options.bias = bias.view();
  const LessonArray q = LessonArray::zeros({1, heads, 1, kWidth}), k = LessonArray::zeros({1, heads, n, kWidth});
  LessonArray weights = attend_many(q, k, k, options, pool).weights;
  weights.shape = {heads, n};
  output.arrays.add(
      "alibi_weights",
      std::move(weights).named(numbered("head ", heads), numbered("", n)).from({MadeFrom::By::rows, "alibi_last"}));
}

}  // namespace

LessonOutput relative_position(const LessonInput& input, const LessonWork& work) {
  LessonOutput output;
  const std::int64_t reach = input.whole("reach");
  output.arrays.add("reach", LessonArray::scalar(static_cast<double>(reach)));
  output.arrays.add("rows", LessonArray::scalar(static_cast<double>(2 * reach + 1)));
  output.arrays.add("heads", LessonArray::scalar(static_cast<double>(input.whole("heads"))));
  index(output, input.whole("n"), reach);
  show_bias(output, input, work.pool);
  learn(output, input, work.pool);
  t5(output);
  alibi_of(output, input, work.pool);
  return output;
}

}  // namespace attn::course
