// tests/support/rows.h - rows of numbers owned by a test, with gaps between them that must stay untouched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "attn/view.h"
#include "tests/support/random.h"

namespace attn::test {

// [rows, width] floats; each row is followed by `gap` numbers that must not change.
class GappedRows {
 public:
  GappedRows(std::int64_t rows, std::int64_t width, std::int64_t gap = 0)
      : rows_(rows), width_(width), stride_(width + gap), data_(static_cast<std::size_t>(rows * stride_), kGap) {}

  GappedRows& fill(std::uint64_t seed, float factor = 1) {
    for (std::int64_t i = 0; i < rows_; ++i)
      for (std::int64_t j = 0; j < width_; ++j)
        at(i, j) = factor * bell(seed, static_cast<std::uint64_t>(i * width_ + j));
    return *this;
  }
  float& at(std::int64_t i, std::int64_t j) { return data_[static_cast<std::size_t>(i * stride_ + j)]; }
  [[nodiscard]] float at(std::int64_t i, std::int64_t j) const {
    return data_[static_cast<std::size_t>(i * stride_ + j)];
  }
  [[nodiscard]] View<float, 2> view() { return {data_.data(), {rows_, width_}, {stride_, 1}}; }
  [[nodiscard]] View<const float, 2> view() const { return {data_.data(), {rows_, width_}, {stride_, 1}}; }

  [[nodiscard]] bool gaps_are_whole() const {
    for (std::int64_t i = 0; i < rows_; ++i)
      for (std::int64_t j = width_; j < stride_; ++j)
        if (at(i, j) != kGap) return false;
    return true;
  }
  [[nodiscard]] bool same_bits(const GappedRows& other) const {
    for (std::int64_t i = 0; i < rows_; ++i)
      if (std::memcmp(&data_[static_cast<std::size_t>(i * stride_)],
                      &other.data_[static_cast<std::size_t>(i * other.stride_)],
                      static_cast<std::size_t>(width_) * sizeof(float)) != 0)
        return false;
    return true;
  }
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t width() const { return width_; }

 private:
  static constexpr float kGap = 12345.5F;

  std::int64_t rows_, width_, stride_;
  std::vector<float> data_;
};

inline std::vector<double> row_of(const GappedRows& x, std::int64_t i) {
  std::vector<double> row;
  for (std::int64_t j = 0; j < x.width(); ++j) row.push_back(x.at(i, j));
  return row;
}

// [rows, columns] numbers of any type, starting `offset` bytes after an aligned address, as in a mapped file.
class Weights {
 public:
  Weights(std::int64_t rows, std::int64_t columns, Type type, std::int64_t offset = 0)
      : rows_(rows), columns_(columns), type_(type), offset_(offset) {
    bytes_.resize(static_cast<std::size_t>(offset + rows * columns * size()));
  }
  Weights& fill(std::uint64_t seed, float factor = 1) {
    for (std::int64_t n = 0; n < rows_ * columns_; ++n) set(n, factor * bell(seed, static_cast<std::uint64_t>(n)));
    return *this;
  }
  void set(std::int64_t n, float value) {
    if (type_ == Type::float32) return put(n, value);
    if (type_ == Type::float16) return put(n, to_half(value));
    put(n, to_bfloat(value));
  }
  [[nodiscard]] float get(std::int64_t n) const {
    if (type_ == Type::float32) return take<float>(n);
    return type_ == Type::float16 ? to_float(take<Half>(n)) : to_float(take<Bfloat>(n));
  }
  [[nodiscard]] float get(std::int64_t i, std::int64_t j) const { return get(i * columns_ + j); }
  [[nodiscard]] AnyView<2> view() const { return {bytes_.data() + offset_, type_, {rows_, columns_}, {columns_, 1}}; }
  [[nodiscard]] AnyView<1> flat() const { return {bytes_.data() + offset_, type_, {rows_ * columns_}, {1}}; }

 private:
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(size_of(type_)); }
  template <typename T>
  void put(std::int64_t n, T value) {
    std::memcpy(bytes_.data() + offset_ + n * size(), &value, sizeof(T));
  }
  template <typename T>
  [[nodiscard]] T take(std::int64_t n) const {
    T value;
    std::memcpy(&value, bytes_.data() + offset_ + n * size(), sizeof(T));
    return value;
  }

  std::int64_t rows_, columns_;
  Type type_;
  std::int64_t offset_;
  std::vector<std::byte> bytes_;
};

}  // namespace attn::test
