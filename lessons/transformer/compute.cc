// lessons/transformer/compute.cc - the whole encoder-decoder on one sentence: every shape and every state on the way.
#include <algorithm>
#include <cmath>

#include "course/compute/lesson_parts.h"
#include "course/compute/model_look.h"
#include "course/compute/translate.h"
#include "course/course.h"
#include "model/run/generate.h"

namespace attn::course {

namespace {

using insight::Kind;

// How far each layer moves each token: the length of the difference, [layers, tokens].
LessonArray moves(const std::vector<nn::Matrix>& hidden, const std::vector<text::Token>& tokens) {
  const std::int64_t layers = std::ssize(hidden) - 1, n = hidden.front().rows(), width = hidden.front().columns();
  LessonArray out = LessonArray::zeros({layers, n});
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

void add_sides(LessonOutput& output, const model::Recording& recording) {
  const std::vector<nn::Matrix>& encoder = recording.log.hidden(false);
  const std::vector<nn::Matrix>& decoder = recording.log.hidden(true);
  output.arrays.add("embedded", hidden_of(encoder.front(), recording.tokens));
  output.arrays.add("memory", hidden_of(encoder.back(), recording.tokens));
  output.arrays.add("encoder_moves", moves(encoder, recording.tokens));
  output.arrays.add("decoder_in", hidden_of(decoder.front(), recording.target));
  output.arrays.add("decoder_out", hidden_of(decoder.back(), recording.target));
  output.arrays.add("decoder_moves", moves(decoder, recording.target));
}

// The three attentions of a layer, one head of each.
void add_attentions(LessonOutput& output, const insight::AttentionTables& tables, const LessonInput& input,
                    ThreadPool& pool) {
  const struct {
    Kind kind;
    const char *name, *title;
  } kinds[] = {{Kind::self, "encoder_weights", "The encoder looks at the source"},
               {Kind::decoder, "decoder_weights", "The decoder looks at what it has written"},
               {Kind::cross, "cross_weights", "The decoder looks at the source"}};
  for (const auto& [kind, name, title] : kinds) {
    const insight::HeadId head{kind, input.whole("layer"), input.whole("head")};
    tables.check(head);
    const LessonArray table = table_of(tables, head, pool);
    output.arrays.add(name, table);
    output.figures.add(name, heatmap_of(table, title, {.cmap = "Blues", .range = figure::Range{0, 1}}));
  }
}

// The word that each row of the decoder predicts, and its probability.
void add_writing(LessonOutput& output, const model::Reader& reader, const model::Recording& recording,
                 ThreadPool& pool) {
  const nn::Matrix logits = reader.model->logits(recording.target_hidden.view(), pool);
  std::vector<std::string> steps;
  LessonArray writes = LessonArray::zeros({logits.rows(), 2});
  for (std::int64_t i = 0; i < logits.rows(); ++i) {
    const auto best = model::likeliest({logits.row(i), static_cast<std::size_t>(logits.columns())}, logits.columns());
    const auto at = static_cast<std::size_t>(i);
    const auto right = std::ranges::find(best, recording.written[at].id, &model::Choice::id);
    steps.push_back(recording.target[at].text + " → " + recording.written[at].text);
    writes.at(i, 0) = right->probability;
    writes.at(i, 1) = best[right == best.begin() ? 1 : 0].probability;
  }
  output.arrays.add("logits", LessonArray::of(logits).named(names_of(recording.target), {}));
  output.arrays.add("writes", std::move(writes).named(steps, {"p", "next best"}));
}

// All rows at once against one row at a time: equal, because of the causal mask.
double one_at_a_time(const model::Reader& reader, const model::Recording& recording, ThreadPool& pool) {
  const model::EncoderOutput memory{
      .hidden = reader.model->encode(model::Batch(text::Encoding{recording.tokens}.ids()), {.pool = pool}),
      .starts = {0, std::ssize(recording.tokens)}};
  const std::vector<std::int32_t> all = text::Encoding{recording.target}.ids();
  double most = 0;
  for (std::size_t n = 1; n <= all.size(); ++n) {
    const model::Batch some({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n)});
    const nn::Matrix hidden = reader.model->decode(some, {.pool = pool, .memory = &memory});
    const auto row = static_cast<std::int64_t>(n) - 1;
    for (std::int64_t c = 0; c < hidden.columns(); ++c)
      most = std::max(most, std::abs(static_cast<double>(hidden.row(row)[c]) - recording.target_hidden.row(row)[c]));
  }
  return most;
}

// The output of a decoder that cannot see the source.
std::string written_blind(const model::Reader& reader, const model::Recording& recording, ThreadPool& pool) {
  std::vector<model::HeadOff> off;
  const model::Facts& facts = reader.model->facts();
  for (std::int64_t layer = 0; layer < facts.decoder_layers; ++layer)
    for (std::int64_t head = 0; head < facts.decoder_heads.heads; ++head)
      off.push_back({.kind = Kind::cross, .layer = layer, .head = head});
  const auto ids = model::generate(*reader.model, text::Encoding{recording.tokens}.ids(), {.tokens = 12},
                                   {.pool = pool, .off = off});
  return reader.tokenizer.decode(ids);
}

}  // namespace

LessonOutput transformer(const LessonInput& input, const LessonWork& work) {
  LessonOutput output;
  const model::Reader reader = open_model(input.text("model"));
  const insight::RecordedTables tables(translated(reader, input.text("text"), {.hidden = true}, work.pool));
  const model::Recording& recording = *tables.recording();
  const model::Facts& facts = reader.model->facts();
  output.words.add("model", short_name(reader));
  output.words.add("text", input.text("text"));
  output.words.add("translation", recording.origin.text.target.value_or(""));
  output.words.add("source", joined(names_of(recording.tokens)));
  output.words.add("target", joined(names_of(recording.target)));
  output.words.add("written", joined(names_of(recording.written)));
  add_number(output, "layers", static_cast<double>(facts.layers));
  add_number(output, "decoder_layers", static_cast<double>(facts.decoder_layers));
  add_number(output, "heads", static_cast<double>(facts.heads.heads));
  add_number(output, "width", static_cast<double>(facts.width));
  add_number(output, "head_width", static_cast<double>(facts.heads.width));
  add_number(output, "vocabulary", static_cast<double>(facts.vocabulary));
  add_number(output, "parameters", static_cast<double>(facts.parameters));
  add_number(output, "attentions", static_cast<double>((facts.layers + 2 * facts.decoder_layers) * facts.heads.heads));
  add_number(output, "source_tokens", static_cast<double>(std::ssize(recording.tokens)));
  add_number(output, "target_tokens", static_cast<double>(std::ssize(recording.target)));
  add_number(output, "layer", static_cast<double>(input.whole("layer")));
  add_number(output, "head", static_cast<double>(input.whole("head")));
  add_sides(output, recording);
  add_attentions(output, tables, input, work.pool);
  add_writing(output, reader, recording, work.pool);
  output.arrays.add("one_at_a_time", LessonArray::scalar(one_at_a_time(reader, recording, work.pool)));
  output.words.add("blind", written_blind(reader, recording, work.pool));
  return output;
}

}  // namespace attn::course
