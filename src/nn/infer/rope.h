// nn/infer/rope.h - rotary positions (Su et al., RoFormer, 2021), in the layout of Llama's weights.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attn/thread_pool.h"
#include "attn/view.h"
#include "nn/infer/matrix.h"

namespace attn::nn {

// Pair (i, i + width/2) of a head is rotated by position * frequencies[i]. Scaling variants differ only in the
// frequencies and in the factor of cos and sin.
struct Rope {
  std::vector<float> frequencies;  // [width / 2]
  float factor = 1;
};

// theta^(2 i / width), and its reciprocal: [width / 2]. Each step is rounded to float as in torch, which matters
// because an angle is up to 100,000 times a frequency.
std::vector<float> rope_periods(double theta, std::int64_t width);
std::vector<float> rope_frequencies(double theta, std::int64_t width);

// The rotations of one pass: cos and sin are computed once and used by every layer.
class RopeTable {
 public:
  // Room for this many rows of `pairs` pairs each; fill() computes them.
  RopeTable(std::int64_t rows, std::int64_t pairs) : cos_(rows, pairs), sin_(rows, pairs) {}

  // Sets the rotation of row first + i to that of positions[i]. rope.frequencies.size() == pairs.
  void fill(std::int64_t first, std::span<const std::int64_t> positions, const Rope& rope);

  // Rotates x [rows, heads * D], D >= 2 pairs. The numbers of a head beyond 2 pairs stay.
  void turn(View<float, 2> x, std::int64_t heads, ThreadPool& pool) const;
  // The gradient: the inverse rotations.
  void turn_back(View<float, 2> dx, std::int64_t heads, ThreadPool& pool) const;

 private:
  template <bool kBack>
  void turn_rows(const View<float, 2>& x, std::int64_t heads, ThreadPool& pool) const;

  Matrix cos_, sin_;  // [rows, pairs]
};

}  // namespace attn::nn
