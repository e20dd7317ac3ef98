// The whole Transformer, in C++.
#include <cmath>
#include <vector>

#include "../numbers.h"
#include "builtin/models.h"
#include "insight/tables/attention_tables.h"
#include "model/run/generate.h"
#include "model/run/prepare.h"

static lesson::Numbers numbers(const char* name, const attn::nn::Matrix& matrix) {
  const auto rows = static_cast<std::size_t>(matrix.rows()), columns = static_cast<std::size_t>(matrix.columns());
  return {name, {rows, columns}, {matrix.data(), matrix.data() + rows * columns}};
}

int main() {
  attn::ThreadPool pool;
  using attn::insight::Kind;

  // [plan]
  const attn::model::Reader reader = attn::model::Reader::load(attn::builtin::folder_of("tiny-translate"));
  const attn::model::Text text = attn::model::prepared({.text = "I love you", .pair = {}, .target = {}}, reader, pool);
  const attn::insight::RecordedTables tables(attn::model::read(reader, text, {.hidden = true}, pool));
  const attn::model::Recording& recording = *tables.recording();

  // [embed]
  const attn::nn::Matrix& embedded = recording.log.hidden().front();

  // [encoder]
  const attn::nn::Matrix encoder_weights = tables.weights({Kind::self, 1, 0}, pool);
  const attn::nn::Matrix& memory = recording.log.hidden().back();

  // [decoder]
  const attn::nn::Matrix& decoder_in = recording.log.hidden(true).front();
  const attn::nn::Matrix decoder_weights = tables.weights({Kind::decoder, 1, 0}, pool);

  // [cross]
  const attn::nn::Matrix cross_weights = tables.weights({Kind::cross, 1, 0}, pool);

  // [write]
  const attn::nn::Matrix logits = reader.model->logits(recording.target_hidden.view(), pool);
  std::vector<float> writes;
  for (std::int64_t i = 0; i < logits.rows(); ++i)
    for (const attn::model::Choice& choice :
         attn::model::likeliest({logits.row(i), static_cast<std::size_t>(logits.columns())}, 2))
      writes.push_back(static_cast<float>(choice.probability));

  // [exercise]
  std::int64_t attentions = 0;
  for (const attn::insight::AttentionStack& stack : tables.stacks()) attentions += stack.layers * stack.heads;

  // []
  lesson::print({numbers("embedded", embedded),
                 numbers("encoder_weights", encoder_weights),
                 numbers("memory", memory),
                 numbers("decoder_in", decoder_in),
                 numbers("decoder_weights", decoder_weights),
                 numbers("cross_weights", cross_weights),
                 numbers("logits", logits),
                 {"writes", {writes.size() / 2, 2}, writes},
                 {"attentions", {}, {static_cast<float>(attentions)}}});
}
