// engine/mask/mask_table.h - tables that masks own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/mask.h"
#include "attn/view.h"

namespace attn::detail {

// "[2,1,4,8]"
std::string shape_text(const Shape<4>& shape);

// Dense strides, but 0 along axes of size 1, so that any index may be used there.
Shape<4> broadcast_strides(const Shape<4>& shape);

// Floats [1|B, 1|H, 1|N, M].
class FloatTable {
 public:
  FloatTable() = default;
  explicit FloatTable(const Shape<4>& shape);

  // Adds two tables; axes of size 1 broadcast. Throws std::invalid_argument, with both shapes, if another axis differs.
  static FloatTable sum(View<const float, 4> a, View<const float, 4> b);

  [[nodiscard]] bool empty() const { return values_.empty(); }
  [[nodiscard]] View<const float, 4> view() const {
    return empty() ? View<const float, 4>{} : View<const float, 4>(values_.data(), shape_, broadcast_strides(shape_));
  }
  [[nodiscard]] float* row(std::int64_t b, std::int64_t h, std::int64_t i) {
    return values_.data() + ((b * shape_[1] + h) * shape_[2] + i) * shape_[3];
  }

 private:
  Shape<4> shape_{};
  std::vector<float> values_;
};

// A rule that looks up its bits in a table [1|B, 1|H, 1|N, M] and may have a bias.
class TableRule {
 public:
  // Starts with no pair allowed. A table without any pair counts as [1,1,1,0].
  explicit TableRule(const Shape<4>& shape);

  // Sets the pairs of one row to f(j), j in [0, M).
  template <typename F>
  void fill_row(std::int64_t b, std::int64_t h, std::int64_t i, F&& f) {
    std::uint64_t* word = bits_.data() + ((b * shape_[1] + h) * shape_[2] + i) * words_;
    for (std::int64_t j = 0; j < shape_[3]; ++j) word[j >> 6] |= std::uint64_t{f(j)} << (j & 63);
  }
  void set_bias(FloatTable bias) { bias_ = std::move(bias); }
  [[nodiscard]] const Shape<4>& shape() const { return shape_; }

  [[nodiscard]] std::uint64_t row(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return bits_[b * steps_[0] + h * steps_[1] + i * steps_[2] + (j >> 6)];
  }
  [[nodiscard]] Cover cover(const Tile& tile) const;
  [[nodiscard]] bool per_batch() const { return shape_[0] > 1; }
  [[nodiscard]] bool per_head() const { return shape_[1] > 1; }
  void check(const Extent& extent) const;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] View<const float, 4> bias() const { return bias_.view(); }

 private:
  Shape<4> shape_;
  std::int64_t words_;  // per row
  Shape<4> steps_;      // in words
  std::vector<std::uint64_t> bits_;
  FloatTable bias_;
};

}  // namespace attn::detail
