// model/families/layers.h - builds layers from stored tensors; shared by all families.
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

// Matrices that share an input. They are used in place until packing pays off; then their pages are released. `weights`
// must outlive the result.
nn::Linear linear_of(const Weights& weights, std::initializer_list<nn::Weight> parts);

// Reads "<name>.weight" and "<name>.bias"; early BERT files call them "<name>.gamma" and "<name>.beta".
nn::LayerNorm layer_norm(const Weights& weights, const std::string& name, std::int64_t width, double epsilon);

// The embedding table [vocabulary, width] of an encoder-decoder: the first of `names` in the file, or any tensor tied
// to it. A file may hold one of them or several.
AnyView<2> shared_table(const Weights& weights, std::vector<std::string> names, const Facts& facts);

}  // namespace attn::model
