// model/families/layers.h - from stored tensors to layers, as every family needs them.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "attn/view.h"
#include "model/files/weights.h"
#include "model/run/model.h"
#include "nn/infer/linear.h"
#include "nn/infer/norm.h"

namespace attn::model {

// Matrices that have the same input, used where they lie until it pays to pack them; then their pages are given back.
// `weights` must live as long as the result.
nn::Linear linear_of(const Weights& weights, std::initializer_list<nn::Weight> parts);

// "<name>.weight" and "<name>.bias"; files of BERT's first years call them "<name>.gamma" and "<name>.beta".
nn::LayerNorm layer_norm(const Weights& weights, const std::string& name, std::int64_t width, double epsilon);

// The table [vocabulary, width] of an encoder-decoder: the first of these names that is there, or any other that is
// tied to them. Files hold one of them or several.
AnyView<2> shared_table(const Weights& weights, std::vector<std::string> names, const Facts& facts);

}  // namespace attn::model
