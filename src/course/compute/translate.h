// course/compute/translate.h - runs the small translator, for the lessons on cross-attention.
#pragma once

#include <string>

#include "course/compute/model_look.h"

namespace attn::course {

// Translates a text and records the attention. Throws std::invalid_argument that lists words the model does not know,
// and for a model that is not an encoder-decoder.
model::Recording translated(const model::Reader& reader, const std::string& text, model::Keep keep, ThreadPool& pool);

}  // namespace attn::course
