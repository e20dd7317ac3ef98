// model/run/classify.h - of which kind texts are: models with a head that gives labels.
#pragma once

#include <span>
#include <vector>

#include "model/recording/recording.h"
#include "model/run/generate.h"

namespace attn::model {

// Logits [texts, labels], all texts in one pass. Throws std::invalid_argument for what the model cannot take.
nn::Matrix classify(const Reader& reader, std::span<const text::Encoding> texts, ThreadPool& pool);
// Of a text that has been read.
nn::Matrix classify(const Reader& reader, const Recording& recording, ThreadPool& pool);

// All labels with their probabilities, the likeliest first, equal ones by number. They sum to 1, unless several labels
// may hold: then each is a probability for itself, 1 / (1 + exp(-logit)).
std::vector<Choice> label_choices(const Facts& facts, std::span<const float> logits);

}  // namespace attn::model
