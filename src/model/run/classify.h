// model/run/classify.h - classifies texts with models that have a classification head.
#pragma once

#include <span>
#include <vector>

#include "model/recording/recording.h"
#include "model/run/generate.h"

namespace attn::model {

// Logits [texts, labels]; all texts in one pass. Throws std::invalid_argument for texts that the model cannot take.
nn::Matrix classify(const Reader& reader, std::span<const text::Encoding> texts, ThreadPool& pool);
// Logits of a recorded text.
nn::Matrix classify(const Reader& reader, const Recording& recording, ThreadPool& pool);

// All labels with their probabilities, the likeliest first, ties by number. They sum to 1, unless several labels may
// hold: then each is an independent probability, 1 / (1 + exp(-logit)).
std::vector<Choice> label_choices(const Facts& facts, std::span<const float> logits);

}  // namespace attn::model
