// nn/infer/matrix.h - matrices of floats that own their memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "attn/view.h"

namespace attn::nn {

// Uninitialised bytes aligned to a cache line. Large blocks use huge pages if the system has them, which makes the
// first use several times cheaper.
class AlignedMemory {
 public:
  AlignedMemory() noexcept = default;
  explicit AlignedMemory(std::int64_t bytes);  // throws std::bad_alloc
  ~AlignedMemory();
  AlignedMemory(AlignedMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), mapped_(std::exchange(other.mapped_, 0)) {}
  AlignedMemory& operator=(AlignedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(mapped_, other.mapped_);
    return *this;
  }
  AlignedMemory(const AlignedMemory&) = delete;
  AlignedMemory& operator=(const AlignedMemory&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t mapped_ = 0;  // bytes of a mapping of its own, 0: from the heap
};

// [rows, columns], dense, not initialised.
class Matrix {
 public:
  Matrix() noexcept = default;
  Matrix(std::int64_t rows, std::int64_t columns)
      : memory_(rows * columns * std::int64_t{sizeof(float)}), rows_(rows), columns_(columns) {}
  Matrix(Matrix&& other) noexcept
      : memory_(std::move(other.memory_)),
        rows_(std::exchange(other.rows_, 0)),
        columns_(std::exchange(other.columns_, 0)) {}
  Matrix& operator=(Matrix&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(rows_, other.rows_);
    std::swap(columns_, other.columns_);
    return *this;
  }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  ~Matrix() = default;

  [[nodiscard]] std::int64_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::int64_t columns() const noexcept { return columns_; }
  [[nodiscard]] bool empty() const noexcept { return rows_ == 0 || columns_ == 0; }

  [[nodiscard]] float* data() noexcept { return reinterpret_cast<float*>(memory_.data()); }
  [[nodiscard]] const float* data() const noexcept { return reinterpret_cast<const float*>(memory_.data()); }
  [[nodiscard]] float* row(std::int64_t i) noexcept { return data() + i * columns_; }
  [[nodiscard]] const float* row(std::int64_t i) const noexcept { return data() + i * columns_; }

  [[nodiscard]] View<float, 2> view() noexcept { return {data(), {rows_, columns_}}; }
  [[nodiscard]] View<const float, 2> view() const noexcept { return {data(), {rows_, columns_}}; }

 private:
  AlignedMemory memory_;
  std::int64_t rows_ = 0, columns_ = 0;
};

// Rows [first, first + count) of a view.
template <typename T>
View<T, 2> rows_of(const View<T, 2>& x, std::int64_t first, std::int64_t count) noexcept {
  return {x.at(first), {count, x.shape[1]}, x.strides};
}

// Rows of [T, heads * width] as [1, heads, T, width].
template <typename T>
View<T, 4> by_head(const View<T, 2>& x, std::int64_t heads, std::int64_t width) noexcept {
  return {x.data, {1, heads, x.shape[0], width}, {0, width, x.strides[0], 1}};
}

}  // namespace attn::nn
