// course/compute/translate.h - the small translator, for the lessons that look into it.
#pragma once

#include <string>

#include "course/compute/model_look.h"

namespace attn::course {

// What the model makes of a text, and how. Throws std::invalid_argument that names the words that it does not know, and
// for a model that is no encoder-decoder.
model::Recording translated(const model::Reader& reader, const std::string& text, model::Keep keep, ThreadPool& pool);

}  // namespace attn::course
