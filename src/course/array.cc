#include "course/array.h"

#include <numeric>

namespace attn::course {

std::string_view name_of(MadeFrom::By by) noexcept {
  switch (by) {
    case MadeFrom::By::product:
      return "product";
    case MadeFrom::By::transposed:
      return "transposed";
    case MadeFrom::By::rows:
      return "rows";
    case MadeFrom::By::each:
      return "each";
    case MadeFrom::By::input:
      break;
  }
  return "given";
}

LessonArray LessonArray::vector(std::vector<double> numbers) { return {{std::ssize(numbers)}, std::move(numbers)}; }

LessonArray LessonArray::of(const nn::Matrix& matrix) {
  const float* const first = matrix.data();
  return {{matrix.rows(), matrix.columns()}, {first, first + matrix.rows() * matrix.columns()}};
}

LessonArray LessonArray::zeros(std::vector<std::int64_t> shape) {
  const std::int64_t count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  return {std::move(shape), std::vector<double>(static_cast<std::size_t>(count))};
}

nn::Matrix LessonArray::matrix() const {
  const std::int64_t wide = shape.empty() ? 1 : shape.back();
  nn::Matrix out(wide == 0 ? 0 : std::ssize(numbers) / wide, wide);
  for (std::size_t n = 0; n < numbers.size(); ++n) out.data()[n] = static_cast<float>(numbers[n]);
  return out;
}

LessonArray&& LessonArray::named(std::vector<std::string> row_names, std::vector<std::string> column_names) && {
  rows = std::move(row_names);
  columns = std::move(column_names);
  return std::move(*this);
}

LessonArray&& LessonArray::from(MadeFrom how) && {
  made = std::move(how);
  return std::move(*this);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string out = "[";
  for (const std::int64_t size : shape) out += (out.size() > 1 ? ", " : "") + std::to_string(size);
  return out + "]";
}

}  // namespace attn::course
