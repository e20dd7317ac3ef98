#include "course/array.h"

#include <numeric>

namespace attn::lesson {

std::string_view name_of(Made::By by) noexcept {
  switch (by) {
    case Made::By::product:
      return "product";
    case Made::By::transposed:
      return "transposed";
    case Made::By::rows:
      return "rows";
    case Made::By::each:
      return "each";
    case Made::By::given:
      break;
  }
  return "given";
}

Array Array::vector(std::vector<double> numbers) { return {{std::ssize(numbers)}, std::move(numbers)}; }

Array Array::of(const nn::Matrix& matrix) {
  const float* const first = matrix.data();
  return {{matrix.rows(), matrix.columns()}, {first, first + matrix.rows() * matrix.columns()}};
}

Array Array::zeros(std::vector<std::int64_t> shape) {
  const std::int64_t count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  return {std::move(shape), std::vector<double>(static_cast<std::size_t>(count))};
}

nn::Matrix Array::matrix() const {
  const std::int64_t wide = shape.empty() ? 1 : shape.back();
  nn::Matrix out(wide == 0 ? 0 : std::ssize(numbers) / wide, wide);
  for (std::size_t n = 0; n < numbers.size(); ++n) out.data()[n] = static_cast<float>(numbers[n]);
  return out;
}

Array&& Array::named(std::vector<std::string> row_names, std::vector<std::string> column_names) && {
  rows = std::move(row_names);
  columns = std::move(column_names);
  return std::move(*this);
}

Array&& Array::from(Made how) && {
  made = std::move(how);
  return std::move(*this);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string out = "[";
  for (const std::int64_t size : shape) out += (out.size() > 1 ? ", " : "") + std::to_string(size);
  return out + "]";
}

}  // namespace attn::lesson
