// course/array.h - an array as a lesson shows it: numbers, shape, names of rows and columns, and origin.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nn/infer/matrix.h"

namespace attn::course {

// How each number was computed, so that the page can highlight its operands.
// clang-format off
//   product:     a[i,j] = sum over t of left[i,t] right[t,j]
//   transposed:  a[i,j] = sum over t of left[i,t] right[j,t]
//   rows:        a[i,j] from all of left[i,:]         (softmax)
//   each:        a[i,j] from left[i,j] alone, or from left[i,j] and right[i,j]
// clang-format on
struct MadeFrom {
  enum class By : std::uint8_t { input, product, transposed, rows, each };
  By by = By::input;
  std::string left = {}, right = {};  // names of arrays
};
std::string_view name_of(MadeFrom::By by) noexcept;

struct LessonArray {
  std::vector<std::int64_t> shape;
  std::vector<double> numbers;                       // row-major; may contain -infinity and NaN
  std::vector<std::string> rows = {}, columns = {};  // names along the last two axes; empty: their indices
  MadeFrom made = {};

  static LessonArray scalar(double number) { return {{}, {number}}; }
  static LessonArray vector(std::vector<double> numbers);
  static LessonArray of(const nn::Matrix& matrix);
  static LessonArray zeros(std::vector<std::int64_t> shape);

  [[nodiscard]] std::int64_t rank() const noexcept { return std::ssize(shape); }
  // For a matrix.
  [[nodiscard]] std::int64_t height() const { return shape.at(0); }
  [[nodiscard]] std::int64_t width() const { return shape.at(1); }
  [[nodiscard]] double at(std::int64_t i, std::int64_t j) const {
    return numbers[static_cast<std::size_t>(i * shape[1] + j)];
  }
  [[nodiscard]] double& at(std::int64_t i, std::int64_t j) {
    return numbers[static_cast<std::size_t>(i * shape[1] + j)];
  }
  // Converts to float32, as the engine takes it. Any rank: all axes but the last become rows.
  [[nodiscard]] nn::Matrix matrix() const;

  LessonArray&& named(std::vector<std::string> row_names, std::vector<std::string> column_names) &&;
  LessonArray&& from(MadeFrom how) &&;
};

std::string shape_text(const std::vector<std::int64_t>& shape);  // "[3, 4]"; "[]" for a single number

}  // namespace attn::course
