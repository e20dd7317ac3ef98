// lessons/positional-encoding/compute.cc - positions for attention: sinusoids, a learned table, rotations, biases.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "attn/bias.h"
#include "builtin/models.h"
#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/course.h"
#include "model/files/weights.h"
#include "nn/infer/embedding.h"
#include "nn/infer/rope.h"

namespace attn::course {

namespace {

LessonArray reversed(const LessonArray& x) {
  LessonArray out = x;
  for (std::int64_t i = 0; i < x.height(); ++i) {
    const auto row = x.numbers.begin() + (x.height() - 1 - i) * x.width();
    std::copy_n(row, x.width(), out.numbers.begin() + i * x.width());
  }
  std::ranges::reverse(out.rows);
  return out;
}

LessonArray waves(std::int64_t positions, std::int64_t width, double base) {
  LessonArray out = LessonArray::zeros({positions, width});
  for (std::int64_t p = 0; p < positions; ++p)
    for (std::int64_t j = 0; j < width; ++j) {
      const std::int64_t pair = j / 2 * 2;
      const double period = std::pow(base, static_cast<double>(pair) / static_cast<double>(width));
      const double angle = static_cast<double>(p) / period;
      out.at(p, j) = j % 2 == 0 ? std::sin(angle) : std::cos(angle);
    }
  return out;
}

// The largest spread within a diagonal: 0 if a table depends on the distance alone.
double diagonal_spread(const LessonArray& table) {
  const std::int64_t n = table.height();
  double most = 0;
  for (std::int64_t distance = 1 - n; distance < n; ++distance) {
    double least = INFINITY, largest = -INFINITY;
    for (std::int64_t i = std::max<std::int64_t>(0, -distance); i < n - std::max<std::int64_t>(0, distance); ++i) {
      least = std::min(least, table.at(i, i + distance));
      largest = std::max(largest, table.at(i, i + distance));
    }
    most = std::max(most, largest - least);
  }
  return most;
}

// Three words in two orders, without and with positions.
void order(LessonOutput& output, const LessonInput& input, ThreadPool& pool) {
  const std::vector<std::string>& words = input.words("words");
  const LessonArray x = output.arrays.add("X", LessonArray(input.array("X")).named(words, {})), other = reversed(x);
  const auto result = [&](const LessonArray& of) { return attend(of, of, of, {}, pool).result.named(of.rows, {}); };
  output.arrays.add("output", result(x));
  output.arrays.add("other_output", result(other));
  const LessonArray places = waves(x.height(), x.width(), input.real("base"));
  output.arrays.add("placed_output", result(sum(x, places)));
  output.arrays.add("placed_other_output", result(sum(other, places)));
}

void sinusoidal(LessonOutput& output, const LessonInput& input) {
  const std::int64_t n = input.whole("n"), width = 2 * input.whole("pairs");
  const LessonArray table = waves(n, width, input.real("base")).named(numbered("", n), {});
  output.figures.add("waves", [&] {
    figure::Heatmap picture = heatmap_of(table, "sin and cos", {.cmap = "RdBu"});
    picture.x_label = "number";
    picture.y_label = "position";
    picture.bar_label = "value";
    return picture;
  }());
  output.arrays.add("waves", table);
  output.arrays.add("wave_dots", transposed(table, table)
                                     .named(numbered("", n), numbered("", n))
                                     .from({MadeFrom::By::transposed, "waves", "waves"}));
}

// The learned positions of a model: how similar they are.
void learned_positions(LessonOutput& output, const LessonInput& input) {
  const std::int64_t n = input.whole("n");
  const model::Weights weights(builtin::folder_of(input.text("model")));
  std::string name = "wpe.weight";
  for (const char* one : {"transformer.wpe.weight", "bert.embeddings.position_embeddings.weight",
                          "embeddings.position_embeddings.weight"})
    if (weights.has(one)) name = one;
  const AnyView<2> table = weights.matrix(name, -1, -1);
  const std::int64_t rows = std::min(n, table.shape[0]);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(rows));
  std::iota(ids.begin(), ids.end(), 0);
  nn::Matrix first(rows, table.shape[1]);
  nn::embed(table, ids, first.view());
  LessonArray units = LessonArray::of(first);
  for (std::int64_t i = 0; i < rows; ++i) {
    double length = 0;
    for (std::int64_t j = 0; j < units.width(); ++j) length += units.at(i, j) * units.at(i, j);
    for (std::int64_t j = 0; j < units.width(); ++j) units.at(i, j) /= std::sqrt(length);
  }
  const LessonArray alike = transposed(units, units).named(numbered("", rows), numbered("", rows));
  output.figures.add("alike", [&] {
    figure::Heatmap picture = heatmap_of(alike, input.text("model"));
    picture.x_label = picture.y_label = "position";
    picture.bar_label = "cosine";
    return picture;
  }());
  output.words.add("model", input.text("model"));
  output.arrays.add("learned_size",
                    LessonArray::vector({static_cast<double>(table.shape[0]), static_cast<double>(table.shape[1])}));
  output.arrays.add("alike", alike);
}

// x [1, width] rotated for every position.
LessonArray turned(const LessonArray& x, std::int64_t n, double base, ThreadPool& pool) {
  const std::int64_t width = x.width();
  nn::Matrix rows(n, width);
  for (std::int64_t i = 0; i < n * width; ++i)
    rows.data()[i] = static_cast<float>(x.numbers[static_cast<std::size_t>(i % width)]);
  std::vector<std::int64_t> positions(static_cast<std::size_t>(n));
  std::iota(positions.begin(), positions.end(), 0);
  nn::RopeTable turns(n, width / 2);
  turns.fill(0, positions, {.frequencies = nn::rope_frequencies(base, width)});
  turns.turn(rows.view(), 1, pool);
  return LessonArray::of(rows).named(numbered("", n), {});
}

// Reorders the pairs (0, 1), (2, 3) ... to (0, width / 2), (1, width / 2 + 1) ..., or back.
LessonArray paired(const LessonArray& x, bool back) {
  LessonArray out = x;
  const std::int64_t half = x.width() / 2;
  for (std::int64_t i = 0; i < x.height(); ++i)
    for (std::int64_t j = 0; j < x.width(); ++j) {
      const std::int64_t other = j % 2 == 0 ? j / 2 : half + j / 2;
      (back ? out.at(i, j) : out.at(i, other)) = back ? x.at(i, other) : x.at(i, j);
    }
  return out;
}

void rope(LessonOutput& output, const LessonInput& input, ThreadPool& pool) {
  const std::int64_t n = input.whole("n"), width = 2 * input.whole("pairs");
  const double base = input.real("base");
  nn::NumpyRandom random(static_cast<std::uint32_t>(input.whole("seed")));
  const LessonArray q = output.arrays.add("q", normal({1, width}, random)),
                    k = output.arrays.add("k", normal({1, width}, random));
  const LessonArray& queries = output.arrays.add("turned_q", turned(q, n, base, pool));
  const LessonArray& keys = output.arrays.add("turned_k", turned(k, n, base, pool));
  const std::vector<std::string> names = numbered("", n);
  const LessonArray& dots = output.arrays.add(
      "rope_dots",
      transposed(queries, keys).named(names, names).from({MadeFrom::By::transposed, "turned_q", "turned_k"}));
  figure::Heatmap picture = heatmap_of(dots, "q at i, k at j", {.cmap = "RdBu"});
  picture.bar_label = "dot product";
  output.figures.add("rope", std::move(picture));
  output.arrays.add("rope_spread", LessonArray::scalar(diagonal_spread(dots)));
  output.arrays.add("rope_below", LessonArray::scalar(power_of_ten_above(diagonal_spread(dots))));

  const LessonArray places = waves(n, width, base);
  LessonArray at_q = places, at_k = places;
  for (std::size_t i = 0; i < places.numbers.size(); ++i) {
    at_q.numbers[i] += q.numbers[i % static_cast<std::size_t>(width)];
    at_k.numbers[i] += k.numbers[i % static_cast<std::size_t>(width)];
  }
  output.arrays.add("added_spread", LessonArray::scalar(diagonal_spread(transposed(at_q, at_k))));
  const LessonArray neighbours = paired(turned(paired(k, false), n, base, pool), true);
  output.arrays.add("mixed_spread", LessonArray::scalar(diagonal_spread(transposed(queries, neighbours))));
}

void relative(LessonOutput& output, const LessonInput& input) {
  const std::int64_t n = input.whole("n");
  const DistanceBias bias = alibi(8, {n, n});
  LessonArray table = LessonArray::zeros({n, n});
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) table.at(i, j) = static_cast<double>(bias.view()(0, j - i + n - 1));
  output.figures.add("alibi", [&] {
    figure::Heatmap picture =
        heatmap_of(std::move(table).named(numbered("", n), numbered("", n)), "ALiBi, head 0 of 8", {.cmap = "RdBu"});
    picture.bar_label = "bias";
    return picture;
  }());
}

}  // namespace

LessonOutput positional_encoding(const LessonInput& input, const LessonWork& work) {
  LessonOutput output;
  for (const char* name : {"n", "shift", "pairs"})
    output.arrays.add(name, LessonArray::scalar(static_cast<double>(input.whole(name))));
  const auto shift = input.whole("shift");
  order(output, input, work.pool);
  sinusoidal(output, input);
  learned_positions(output, input);
  rope(output, input, work.pool);
  relative(output, input);
  const LessonArray& dots = *output.arrays.find("rope_dots");
  const LessonArray& wave_dots = *output.arrays.find("wave_dots");
  output.arrays.add("rope_pairs",
                    LessonArray::vector({dots.at(0, shift), dots.at(3, 3 + shift), dots.at(7, 7 + shift)}));
  output.arrays.add("wave_pairs", LessonArray::vector({wave_dots.at(0, shift), wave_dots.at(3, 3 + shift),
                                                       wave_dots.at(7, 7 + shift)}));
  return output;
}

}  // namespace attn::course
