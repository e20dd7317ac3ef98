// train/trainable_families.h - layers whose parameters have the names used in the families' files.
#pragma once

#include <string>

#include "nn/infer/norm.h"
#include "nn/learn/dense.h"
#include "nn/learn/parameters.h"

namespace attn::train {

// "<name>.weight" [out, in] and "<name>.bias" [out].
inline nn::Dense add_dense(nn::Parameters& to, const std::string& name, std::int64_t in, std::int64_t out) {
  return {.w = to.matrix(name + ".weight", out, in), .b = to.vector(name + ".bias", out)};
}

// "<name>.weight" and "<name>.bias", both [width].
inline nn::Norm add_norm(nn::Parameters& to, const std::string& name, std::int64_t width, float epsilon) {
  return {
      .weight = to.vector(name + ".weight", width, 1), .bias = to.vector(name + ".bias", width), .epsilon = epsilon};
}

}  // namespace attn::train
