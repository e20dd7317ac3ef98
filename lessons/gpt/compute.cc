// lessons/gpt/compute.cc - a decoder continues a text, token by token.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/compute/model_look.h"
#include "course/course.h"
#include "model/run/generate.h"
#include "model/run/prepare.h"

namespace attn::course {

namespace {

using insight::Kind;
using model::Choice;

constexpr std::int64_t kShown = 8;  // number of likeliest tokens

// A token as a label, with its leading space visible.
std::string visible(const std::string& token) { return token.starts_with(' ') ? "␣" + token.substr(1) : token; }

class TextWriter {
 public:
  TextWriter(const LessonInput& input, const model::Reader& reader, ThreadPool& pool)
      : input_(input), reader_(reader), pool_(pool), prompt_(model::prompt_ids(reader, input.text("text"))) {}

  [[nodiscard]] std::string name(std::int32_t id) const { return visible(reader_.tokenizer.tokens({&id, 1})[0].text); }

  // The model's prediction for the token after the prompt.
  [[nodiscard]] std::vector<float> logits() const {
    const model::Model& model = *reader_.model;
    const nn::Matrix hidden = model.decode(model::Batch(prompt_), {.pool = pool_});
    const nn::Matrix row = model.logits(nn::rows_of(hidden.view(), hidden.rows() - 1, 1), pool_);
    return {row.data(), row.data() + row.columns()};
  }

  struct Written {
    std::string text;
    LessonArray steps;  // [tokens, 2]: probabilities of the chosen and of the likeliest token
  };
  [[nodiscard]] Written write(const model::Sampling& sampling) const {
    std::vector<std::vector<float>> seen;
    const model::Generation how{
        .tokens = input_.whole("tokens"), .sampling = sampling, .on_logits = [&](std::span<const float> logits) {
          seen.emplace_back(logits.begin(), logits.end());
        }};
    const std::vector<std::int32_t> ids = model::generate(*reader_.model, prompt_, how, {.pool = pool_});
    Written out{.text = reader_.tokenizer.decode(ids), .steps = LessonArray::zeros({std::ssize(ids), 2})};
    std::vector<std::string> names;
    for (std::size_t n = 0; n < ids.size(); ++n) {
      const std::vector<Choice> all = model::likeliest(seen[n], std::ssize(seen[n]));
      const auto chosen = std::ranges::find(all, ids[n], &Choice::id);
      out.steps.at(static_cast<std::int64_t>(n), 0) = chosen->probability;
      out.steps.at(static_cast<std::int64_t>(n), 1) = all.front().probability;
      names.push_back(name(ids[n]));
    }
    out.steps.rows = std::move(names);
    out.steps.columns = {"chosen", "likeliest"};
    return out;
  }

 private:
  const LessonInput& input_;
  const model::Reader& reader_;
  ThreadPool& pool_;
  std::vector<std::int32_t> prompt_;
};

double probability_of(const std::vector<Choice>& from, std::int32_t id) {
  const auto found = std::ranges::find(from, id, &Choice::id);
  return found == from.end() ? 0 : found->probability;
}

double choice_entropy(const std::vector<Choice>& choices) {
  double sum = 0;
  for (const Choice& one : choices) sum -= one.probability > 0 ? one.probability * std::log(one.probability) : 0;
  return sum;
}

void add_next(LessonOutput& output, const TextWriter& writer, const std::vector<float>& logits) {
  const std::vector<Choice> best = model::likeliest(logits, kShown);
  LessonArray next = LessonArray::zeros({std::ssize(best), 2});
  std::vector<std::string> names;
  figure::Bars bars{.bars = {}, .title = "The next token", .x_label = "probability", .caption = {}};
  for (std::size_t n = 0; n < best.size(); ++n) {
    names.push_back(writer.name(best[n].id));
    next.at(static_cast<std::int64_t>(n), 0) = logits[static_cast<std::size_t>(best[n].id)];
    next.at(static_cast<std::int64_t>(n), 1) = best[n].probability;
    bars.bars.push_back({names.back(), best[n].probability});
  }
  output.words.add("first", names[0]);
  output.words.add("second", names[1]);
  output.arrays.add("next", std::move(next).named(names, {"logit", "p"}));
  output.figures.add("next", std::move(bars));
}

// The same logits at several temperatures, including the reader's.
void add_temperatures(LessonOutput& output, const TextWriter& writer, const std::vector<float>& logits, double own) {
  const std::vector<Choice> best = model::likeliest(logits, kShown);
  const std::vector<double> temperatures = {0.5, 1, 2, own};
  LessonArray table = LessonArray::zeros({std::ssize(best), std::ssize(temperatures)});
  LessonArray entropy = LessonArray::zeros({1, std::ssize(temperatures)});
  std::vector<std::string> names, columns = {"T = 0.5", "T = 1", "T = 2", "yours"};
  for (const Choice& one : best) names.push_back(writer.name(one.id));
  for (std::size_t t = 0; t < temperatures.size(); ++t) {
    const std::vector<Choice> left = model::candidates(logits, {.temperature = temperatures[t]});
    entropy.numbers[t] = choice_entropy(left);
    for (std::size_t n = 0; n < best.size(); ++n)
      table.at(static_cast<std::int64_t>(n), static_cast<std::int64_t>(t)) = probability_of(left, best[n].id);
  }
  output.arrays.add("ratio", LessonArray::scalar(table.at(0, 1) / table.at(1, 1)));
  output.arrays.add("ratio_half", LessonArray::scalar(table.at(0, 0) / table.at(1, 0)));
  output.arrays.add("temperatures", std::move(table).named(names, columns));
  output.arrays.add("entropy", std::move(entropy).named({"entropy"}, columns));
}

void add_attention(LessonOutput& output, const model::Reader& reader, const LessonInput& input, ThreadPool& pool) {
  const insight::RecordedTables tables(
      model::read(reader, {.text = input.text("sentence"), .pair = {}, .target = {}}, {}, pool));
  const insight::HeadId head{Kind::self, input.whole("layer"), input.whole("head")};
  tables.check(head);
  LessonArray table = table_of(tables, head, pool);
  for (std::string& name : table.rows) name = visible(name);
  table.columns = table.rows;
  double above = 0, before = 0;
  for (std::int64_t i = 0; i < table.height(); ++i) {
    for (std::int64_t j = i + 1; j < table.width(); ++j) above = std::max(above, table.at(i, j));
    if (i > 0) before += table.at(i, i - 1) / static_cast<double>(table.height() - 1);
  }
  output.words.add("sentence", input.text("sentence"));
  output.arrays.add("layer", LessonArray::scalar(static_cast<double>(head.layer)));
  output.arrays.add("head", LessonArray::scalar(static_cast<double>(head.head)));
  output.arrays.add("attention", table);
  output.arrays.add("above", LessonArray::scalar(above));
  output.arrays.add("before", LessonArray::scalar(before));
  output.figures.add("attention", heatmap_of(table, short_name(reader) + ", " + to_string(head), {.cmap = "Blues"}));
}

}  // namespace

LessonOutput gpt(const LessonInput& input, const LessonWork& work) {
  LessonOutput output;
  const model::Reader reader = open_model(input.text("model"));
  const model::Facts& facts = reader.model->facts();
  if (facts.form != model::Form::decoder)
    throw std::invalid_argument(reader.name + " is not a decoder: this lesson needs a model like GPT");
  const TextWriter writer(input, reader, work.pool);
  output.words.add("model", short_name(reader));
  output.words.add("prompt", input.text("text"));
  output.arrays.add("vocabulary", LessonArray::scalar(static_cast<double>(facts.vocabulary)));
  output.arrays.add("layers", LessonArray::scalar(static_cast<double>(facts.layers)));
  output.arrays.add("heads", LessonArray::scalar(static_cast<double>(facts.heads.heads)));
  const std::vector<std::string> tokens = names_of(reader.tokenizer.encode(input.text("text")).tokens);
  std::vector<std::string> seen;
  for (const std::string& token : tokens) seen.push_back(visible(token));
  output.words.add("tokens", joined(seen));
  add_attention(output, reader, input, work.pool);

  const std::vector<float> logits = writer.logits();
  const double temperature = input.real("temperature");
  output.arrays.add("temperature", LessonArray::scalar(temperature));
  output.arrays.add("seed", LessonArray::scalar(input.real("seed")));
  add_next(output, writer, logits);
  add_temperatures(output, writer, logits, temperature);

  const TextWriter::Written greedy = writer.write({});
  const TextWriter::Written drawn = writer.write({.temperature = temperature,
                                                  .top_k = input.whole("top_k"),
                                                  .seed = static_cast<std::uint64_t>(input.whole("seed"))});
  output.words.add("greedy_text", greedy.text);
  output.words.add("drawn_text", drawn.text);
  output.arrays.add("greedy", greedy.steps);
  output.arrays.add("drawn", drawn.steps);
  return output;
}

}  // namespace attn::course
