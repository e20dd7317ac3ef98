// nn/infer/rope.h - rotary positions (Su et al., RoFormer, 2021), as Llama's files mean them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attn/thread_pool.h"
#include "attn/view.h"
#include "nn/infer/matrix.h"

namespace attn::nn {

// Pair (i, i + width/2) of a head turns by position * frequency[i]. Everything that scaling variants change is which
// frequencies there are and by how much cos and sin are multiplied.
struct Rope {
  std::vector<float> frequencies;  // [width / 2]
  float factor = 1;
};

// theta^(2 i / width), and 1 / that: [width / 2]. Each step is rounded to float, as torch does it: an angle is up to
// 100,000 times a frequency.
std::vector<float> rope_periods(double theta, std::int64_t width);
std::vector<float> rope_frequencies(double theta, std::int64_t width);

// The turns of one pass: cos and sin are computed once and used by every layer.
class RopeTable {
 public:
  // Turns for this many rows of `pairs` pairs each; fill() says what they are.
  RopeTable(std::int64_t rows, std::int64_t pairs) : cos_(rows, pairs), sin_(rows, pairs) {}

  // Row first + i stands at positions[i]. rope.frequencies.size() == pairs.
  void fill(std::int64_t first, std::span<const std::int64_t> positions, const Rope& rope);

  // x [rows, heads * D], D >= 2 pairs. Numbers of a head beyond the turned part stay.
  void turn(View<float, 2> x, std::int64_t heads, ThreadPool& pool) const;
  // The gradient on its way back: the same turns, the other way round.
  void turn_back(View<float, 2> dx, std::int64_t heads, ThreadPool& pool) const;

 private:
  template <bool kBack>
  void turn_rows(const View<float, 2>& x, std::int64_t heads, ThreadPool& pool) const;

  Matrix cos_, sin_;  // [rows, pairs]
};

}  // namespace attn::nn
