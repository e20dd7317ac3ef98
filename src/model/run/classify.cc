#include "model/run/classify.h"

#include <cmath>

#include "nn/infer/embedding.h"

namespace attn::model {

nn::Matrix classify(const Reader& reader, std::span<const text::Encoding> texts, ThreadPool& pool) {
  Batch batch;
  for (const text::Encoding& text : texts) batch.add(text.ids(), text.types());
  const nn::Matrix hidden = reader.model->encode(batch, {.pool = pool});
  nn::Matrix first(batch.sequences(), hidden.columns());
  nn::embed(hidden.view(), std::vector<std::int32_t>(batch.starts.begin(), batch.starts.end() - 1), first.view());
  return reader.model->classify(first.view(), pool);
}

nn::Matrix classify(const Reader& reader, const Recording& recording, ThreadPool& pool) {
  return reader.model->classify(nn::rows_of(recording.hidden.view(), 0, 1), pool);
}

std::vector<Choice> label_choices(const Facts& facts, std::span<const float> logits) {
  std::vector<Choice> choices = likeliest(logits, std::ssize(logits));
  if (facts.several_labels) {  // in the same order, since both grow with the logit
    for (Choice& choice : choices)
      choice.probability = 1 / (1 + std::exp(-static_cast<double>(logits[static_cast<std::size_t>(choice.id)])));
  }
  return choices;
}

}  // namespace attn::model
