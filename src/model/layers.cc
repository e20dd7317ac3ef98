#include "model/layers.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace attn::model {

nn::Linear pack(const Weights& weights, std::initializer_list<nn::Weight> parts, ThreadPool& pool) {
  nn::Linear linear(parts, pool);
  for (const nn::Weight& part : parts) weights.release(part);
  return linear;
}

nn::LayerNorm layer_norm(const Weights& weights, const std::string& name, std::int64_t width, double epsilon) {
  const bool old = !weights.has(name + ".weight") && weights.has(name + ".gamma");
  return {.weight = weights.floats(name + (old ? ".gamma" : ".weight"), width),
          .bias = weights.floats(name + (old ? ".beta" : ".bias"), width),
          .epsilon = static_cast<float>(epsilon)};
}

void LazyLinear::set(const Weights& weights, const nn::Weight& weight) noexcept {
  weights_ = &weights;
  weight_ = weight;
}

// Measured with BERT-base: the peak of a whole run falls from 1.28 to 1.09 times the file.
void LazyLinear::pack_parts(ThreadPool& pool) const {
  constexpr std::int64_t kPartBytes = std::int64_t{16} << 20, kRowStep = 64;
  const auto size = static_cast<std::int64_t>(size_of(weight_.matrix.type));
  const std::int64_t rows = weight_.matrix.shape[0], row_bytes = weight_.matrix.strides[0] * size;
  const std::int64_t step =
      std::max(kPartBytes / std::max<std::int64_t>(row_bytes, 1) / kRowStep, std::int64_t{1}) * kRowStep;
  std::vector<nn::Linear> parts;
  for (std::int64_t first = 0; first < rows; first += step) {
    nn::Weight part = weight_;
    part.matrix.shape[0] = std::min(step, rows - first);
    part.matrix.data = static_cast<const std::byte*>(weight_.matrix.data) + first * row_bytes;
    if (!weight_.bias.empty()) {
      part.bias.shape[0] = part.matrix.shape[0];
      part.bias.data = static_cast<const std::byte*>(weight_.bias.data) +
                       first * static_cast<std::int64_t>(size_of(weight_.bias.type));
    }
    parts.push_back(pack(*weights_, {part}, pool));
  }
  parts_ = std::move(parts);
}

void LazyLinear::operator()(View<const float, 2> x, View<float, 2> out, ThreadPool& pool) const {
  std::call_once(packed_, [&] { pack_parts(pool); });
  std::int64_t first = 0;
  for (const nn::Linear& part : parts_) {
    part(x, {out.at(0, first), {out.shape[0], part.outputs()}, out.strides}, pool);
    first += part.outputs();
  }
}

}  // namespace attn::model
