// lessons/transformer/compute.cc - the whole encoder-decoder on one sentence: every shape and every state on the way.
#include <algorithm>
#include <cmath>

#include "course/compute/lesson_parts.h"
#include "course/compute/model_look.h"
#include "course/compute/translate.h"
#include "course/course.h"
#include "model/run/generate.h"

namespace attn::lesson {

namespace {

using insight::Kind;

// How far each layer moves each token: the length of the difference, [layers, tokens].
Array moves(const std::vector<nn::Matrix>& hidden, const std::vector<text::Token>& tokens) {
  const std::int64_t layers = std::ssize(hidden) - 1, n = hidden.front().rows(), width = hidden.front().columns();
  Array out = Array::zeros({layers, n});
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    for (std::int64_t i = 0; i < n; ++i) {
      const float* const from = hidden[static_cast<std::size_t>(layer)].row(i);
      const float* const to = hidden[static_cast<std::size_t>(layer) + 1].row(i);
      double sum = 0;
      for (std::int64_t c = 0; c < width; ++c) sum += std::pow(static_cast<double>(to[c]) - from[c], 2);
      out.at(layer, i) = std::sqrt(sum);
    }
  }
  return std::move(out).named(numbered("layer ", layers), names_of(tokens));
}

void add_sides(Told& told, const model::Reading& reading) {
  const std::vector<nn::Matrix>& encoder = reading.recording.hidden(false);
  const std::vector<nn::Matrix>& decoder = reading.recording.hidden(true);
  told.arrays.add("embedded", hidden_of(encoder.front(), reading.tokens));
  told.arrays.add("memory", hidden_of(encoder.back(), reading.tokens));
  told.arrays.add("encoder_moves", moves(encoder, reading.tokens));
  told.arrays.add("decoder_in", hidden_of(decoder.front(), reading.target));
  told.arrays.add("decoder_out", hidden_of(decoder.back(), reading.target));
  told.arrays.add("decoder_moves", moves(decoder, reading.target));
}

// The three attentions of a layer, one head of each.
void add_attentions(Told& told, const insight::Specimen& specimen, const Given& given, ThreadPool& pool) {
  const struct {
    Kind kind;
    const char *name, *title;
  } kinds[] = {{Kind::self, "encoder_weights", "The encoder looks at the source"},
               {Kind::decoder, "decoder_weights", "The decoder looks at what it has written"},
               {Kind::cross, "cross_weights", "The decoder looks at the source"}};
  for (const auto& [kind, name, title] : kinds) {
    const insight::HeadName head{kind, given.whole("layer"), given.whole("head")};
    specimen.check(head);
    const Array table = table_of(specimen, head, pool);
    told.arrays.add(name, table);
    told.figures.add(name, heatmap_of(table, title, {.cmap = "Blues", .range = figure::Range{0, 1}}));
  }
}

// What each row of the decoder writes, and how sure it is.
void add_writing(Told& told, const model::Reader& reader, const model::Reading& reading, ThreadPool& pool) {
  const nn::Matrix logits = reader.model->logits(reading.target_hidden.view(), pool);
  std::vector<std::string> steps;
  Array writes = Array::zeros({logits.rows(), 2});
  for (std::int64_t i = 0; i < logits.rows(); ++i) {
    const auto best = model::likeliest({logits.row(i), static_cast<std::size_t>(logits.columns())}, logits.columns());
    const auto at = static_cast<std::size_t>(i);
    const auto right = std::ranges::find(best, reading.written[at].id, &model::Choice::id);
    steps.push_back(reading.target[at].text + " → " + reading.written[at].text);
    writes.at(i, 0) = right->probability;
    writes.at(i, 1) = best[right == best.begin() ? 1 : 0].probability;
  }
  told.arrays.add("logits", Array::of(logits).named(names_of(reading.target), {}));
  told.arrays.add("writes", std::move(writes).named(steps, {"p", "next best"}));
}

// All rows at once against one row more at a time: the mask sees to it that they are the same.
double one_at_a_time(const model::Reader& reader, const model::Reading& reading, ThreadPool& pool) {
  const model::Memory memory{
      .hidden = reader.model->encode(model::Batch(text::Encoding{reading.tokens}.ids()), {.pool = pool}),
      .starts = {0, std::ssize(reading.tokens)}};
  const std::vector<std::int32_t> all = text::Encoding{reading.target}.ids();
  double most = 0;
  for (std::size_t n = 1; n <= all.size(); ++n) {
    const model::Batch some({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n)});
    const nn::Matrix hidden = reader.model->decode(some, {.pool = pool, .memory = &memory});
    const auto row = static_cast<std::int64_t>(n) - 1;
    for (std::int64_t c = 0; c < hidden.columns(); ++c)
      most = std::max(most, std::abs(static_cast<double>(hidden.row(row)[c]) - reading.target_hidden.row(row)[c]));
  }
  return most;
}

// What it writes where the decoder cannot look at the source.
std::string written_blind(const model::Reader& reader, const model::Reading& reading, ThreadPool& pool) {
  std::vector<model::HeadOff> off;
  const model::Facts& facts = reader.model->facts();
  for (std::int64_t layer = 0; layer < facts.decoder_layers; ++layer)
    for (std::int64_t head = 0; head < facts.decoder_heads.heads; ++head)
      off.push_back({.kind = Kind::cross, .layer = layer, .head = head});
  const auto ids =
      model::generate(*reader.model, text::Encoding{reading.tokens}.ids(), {.tokens = 12}, {.pool = pool, .off = off});
  return reader.tokenizer.decode(ids);
}

}  // namespace

Told transformer(const Given& given, const Work& work) {
  Told told;
  const model::Reader reader = open_model(given.text("model"));
  const insight::RecordedSpecimen specimen(translated(reader, given.text("text"), {.hidden = true}, work.pool));
  const model::Reading& reading = *specimen.reading();
  const model::Facts& facts = reader.model->facts();
  told.words.add("model", short_name(reader));
  told.words.add("text", given.text("text"));
  told.words.add("translation", reading.origin.text.target.value_or(""));
  told.words.add("source", joined(names_of(reading.tokens)));
  told.words.add("target", joined(names_of(reading.target)));
  told.words.add("written", joined(names_of(reading.written)));
  add_number(told, "layers", static_cast<double>(facts.layers));
  add_number(told, "decoder_layers", static_cast<double>(facts.decoder_layers));
  add_number(told, "heads", static_cast<double>(facts.heads.heads));
  add_number(told, "width", static_cast<double>(facts.width));
  add_number(told, "head_width", static_cast<double>(facts.heads.width));
  add_number(told, "vocabulary", static_cast<double>(facts.vocabulary));
  add_number(told, "parameters", static_cast<double>(facts.parameters));
  add_number(told, "attentions", static_cast<double>((facts.layers + 2 * facts.decoder_layers) * facts.heads.heads));
  add_number(told, "source_tokens", static_cast<double>(std::ssize(reading.tokens)));
  add_number(told, "target_tokens", static_cast<double>(std::ssize(reading.target)));
  add_number(told, "layer", static_cast<double>(given.whole("layer")));
  add_number(told, "head", static_cast<double>(given.whole("head")));
  add_sides(told, reading);
  add_attentions(told, specimen, given, work.pool);
  add_writing(told, reader, reading, work.pool);
  told.arrays.add("one_at_a_time", Array::scalar(one_at_a_time(reader, reading, work.pool)));
  told.words.add("blind", written_blind(reader, reading, work.pool));
  return told;
}

}  // namespace attn::lesson
