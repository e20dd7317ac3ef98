#include "course/compute/lesson_parts.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/whole.h"
#include "engine/runtime/number_text.h"

namespace attn::course {

LessonArray normal(std::vector<std::int64_t> shape, nn::NumpyRandom& random) {
  LessonArray out = LessonArray::zeros(std::move(shape));
  for (double& number : out.numbers) number = random.normal();
  return out;
}

std::vector<std::int64_t> whole_numbers(const LessonArray& array, const std::string& name) {
  constexpr double kMost = 9007199254740992;  // from here on, not every integer is a double
  std::vector<std::int64_t> whole;
  for (const double number : array.numbers) {
    if (!(std::abs(number) < kMost) || number != std::trunc(number))
      throw std::invalid_argument(name + " must be whole numbers, not " + attn::number_text(number));
    whole.push_back(base::whole<std::int64_t>(number));
  }
  return whole;
}

LessonArray shape_of(const LessonArray& array) { return LessonArray::vector({array.shape.begin(), array.shape.end()}); }

LessonArray slice(const LessonArray& array, std::int64_t n) {
  const std::int64_t size = std::ssize(array.numbers) / array.shape.at(0);
  const auto first = array.numbers.begin() + n * size;
  return {{array.shape.begin() + 1, array.shape.end()}, {first, first + size}, array.rows, array.columns, array.made};
}

LessonArray flipped(const LessonArray& matrix) {
  LessonArray out = LessonArray::zeros({matrix.width(), matrix.height()});
  for (std::int64_t i = 0; i < matrix.height(); ++i)
    for (std::int64_t j = 0; j < matrix.width(); ++j) out.at(j, i) = matrix.at(i, j);
  return out;
}

LessonArray row_sums(const LessonArray& array) {
  LessonArray out = LessonArray::zeros({array.shape.begin(), array.shape.end() - 1});
  const auto width = static_cast<std::size_t>(array.shape.back());
  for (std::size_t n = 0; n < array.numbers.size(); ++n) out.numbers[n / width] += array.numbers[n];
  return out;
}

LessonArray sum(const LessonArray& a, const LessonArray& b) {
  LessonArray out = a;
  for (std::size_t n = 0; n < out.numbers.size(); ++n) out.numbers[n] += b.numbers.at(n);
  return out;
}

double largest_difference(const LessonArray& a, const LessonArray& b) {
  if (a.shape != b.shape)
    throw std::invalid_argument("shapes differ: " + shape_text(a.shape) + " and " + shape_text(b.shape));
  double largest = 0;
  for (std::size_t n = 0; n < a.numbers.size(); ++n) largest = std::max(largest, std::abs(a.numbers[n] - b.numbers[n]));
  return largest;
}

double power_of_ten_above(double number) { return std::pow(10, std::ceil(std::log10(std::max(number, 1e-6)))); }

std::vector<std::string> numbered(const std::string& prefix, std::int64_t count) {
  std::vector<std::string> names;
  for (std::int64_t n = 0; n < count; ++n) names.push_back(prefix + std::to_string(n));
  return names;
}

figure::Heatmap heatmap_of(const LessonArray& matrix, std::string title, figure::Shade shade) {
  figure::Heatmap picture{.cells = matrix.matrix(),
                          .rows = matrix.rows,
                          .columns = matrix.columns,
                          .title = std::move(title),
                          .caption = {},
                          .shade = std::move(shade)};
  return picture;
}

LessonArray table_of(const Mask& mask, std::int64_t queries, std::int64_t keys, std::int64_t sequence) {
  LessonArray out = LessonArray::zeros({queries, keys});
  for (std::int64_t i = 0; i < queries; ++i)
    for (std::int64_t j = 0; j < keys; ++j) out.at(i, j) = mask.allows(sequence, 0, i, j) ? 1 : 0;
  return out;
}

figure::MaskPicture picture_of(const LessonArray& table, std::string title) {
  return {.rows = table.height(),
          .columns = table.width(),
          .seen = {table.numbers.begin(), table.numbers.end()},
          .row_labels = table.rows,
          .column_labels = table.columns,
          .title = std::move(title),
          .caption = {}};
}

}  // namespace attn::course
