#include "model/layers.h"

#include <span>

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

void LazyLinear::operator()(View<const float, 2> x, View<float, 2> out, ThreadPool& pool) const {
  std::call_once(packed_, [&] { linear_ = pack(*weights_, {weight_}, pool); });
  linear_(x, out, pool);
}

}  // namespace attn::model
