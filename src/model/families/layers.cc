#include "model/families/layers.h"

#include <span>

namespace attn::model {

nn::Linear linear_of(const Weights& weights, std::initializer_list<nn::Weight> parts) {
  return {std::span<const nn::Weight>(parts.begin(), parts.size()),
          [&weights](const nn::Weight& packed) { weights.release(packed); }};
}

nn::LayerNorm layer_norm(const Weights& weights, const std::string& name, std::int64_t width, double epsilon) {
  const bool old = !weights.has(name + ".weight") && weights.has(name + ".gamma");
  return {.weight = weights.floats(name + (old ? ".gamma" : ".weight"), width),
          .bias = weights.floats(name + (old ? ".beta" : ".bias"), width),
          .epsilon = static_cast<float>(epsilon)};
}

AnyView<2> shared_table(const Weights& weights, std::vector<std::string> names, const Facts& facts) {
  names.insert(names.end(), {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"});
  for (const std::string& name : names) {
    if (weights.has(name)) return weights.matrix(name, facts.vocabulary, facts.width);
  }
  return weights.matrix("shared.weight", facts.vocabulary, facts.width);  // throws, and lists the nearest names
}

}  // namespace attn::model
