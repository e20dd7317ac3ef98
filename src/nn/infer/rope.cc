#include "nn/infer/rope.h"

#include <algorithm>
#include <cmath>

namespace attn::nn {
namespace {

// Below this, waking a helper takes longer than the work.
constexpr std::int64_t kNumbersWorthATask = 16384;

template <bool kBack>
void turn_head(float* __restrict x, const float* __restrict cos, const float* __restrict sin, std::int64_t pairs) {
  float* __restrict y = x + pairs;
  for (std::int64_t i = 0; i < pairs; ++i) {
    const float a = x[i];
    const float b = y[i];
    x[i] = kBack ? a * cos[i] + b * sin[i] : a * cos[i] - b * sin[i];
    y[i] = kBack ? b * cos[i] - a * sin[i] : b * cos[i] + a * sin[i];
  }
}

}  // namespace

std::vector<float> rope_periods(double theta, std::int64_t width) {
  std::vector<float> periods(static_cast<std::size_t>(width / 2));
  for (std::size_t i = 0; i < periods.size(); ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(width);
    periods[i] = static_cast<float>(std::pow(theta, static_cast<double>(exponent)));
  }
  return periods;
}

std::vector<float> rope_frequencies(double theta, std::int64_t width) {
  std::vector<float> frequencies = rope_periods(theta, width);
  for (float& f : frequencies) f = 1 / f;
  return frequencies;
}

void RopeTable::fill(std::int64_t first, std::span<const std::int64_t> positions, const Rope& rope) {
  for (std::size_t r = 0; r < positions.size(); ++r) {
    const auto position = static_cast<float>(positions[r]);
    float* cos = cos_.row(first + static_cast<std::int64_t>(r));
    float* sin = sin_.row(first + static_cast<std::int64_t>(r));
    for (std::size_t i = 0; i < rope.frequencies.size(); ++i) {
      const float angle = position * rope.frequencies[i];
      cos[i] = std::cos(angle) * rope.factor;
      sin[i] = std::sin(angle) * rope.factor;
    }
  }
}

template <bool kBack>
void RopeTable::turn_rows(const View<float, 2>& x, std::int64_t heads, ThreadPool& pool) const {
  const std::int64_t rows = x.shape[0];
  const std::int64_t width = x.shape[1] / heads;
  const auto turn_some = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t r = from; r < to; ++r)
      for (std::int64_t h = 0; h < heads; ++h)
        turn_head<kBack>(x.at(r) + h * width, cos_.row(r), sin_.row(r), cos_.columns());
  };
  const std::int64_t step = std::max<std::int64_t>(1, kNumbersWorthATask / x.shape[1]);
  if (rows <= step) return turn_some(0, rows);
  pool.run((rows + step - 1) / step, [&](std::int64_t t, int) { turn_some(t * step, std::min(rows, (t + 1) * step)); });
}

void RopeTable::turn(View<float, 2> x, std::int64_t heads, ThreadPool& pool) const { turn_rows<false>(x, heads, pool); }
void RopeTable::turn_back(View<float, 2> dx, std::int64_t heads, ThreadPool& pool) const {
  turn_rows<true>(dx, heads, pool);
}

}  // namespace attn::nn
