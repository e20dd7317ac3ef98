// lessons/gpt/compute.cc - a decoder goes on with a text, a token at a time.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/compute/model_look.h"
#include "course/course.h"
#include "model/run/generate.h"
#include "model/run/prepare.h"

namespace attn::lesson {

namespace {

using insight::Kind;
using model::Choice;

constexpr std::int64_t kShown = 8;  // of the likeliest tokens

// To be read beside a number: the space in front of a word is seen.
std::string visible(const std::string& token) { return token.starts_with(' ') ? "␣" + token.substr(1) : token; }

class Writer {
 public:
  Writer(const Given& given, const model::Reader& reader, ThreadPool& pool)
      : given_(given), reader_(reader), pool_(pool), prompt_(model::prompt_ids(reader, given.text("text"))) {}

  [[nodiscard]] std::string name(std::int32_t id) const { return visible(reader_.tokenizer.tokens({&id, 1})[0].text); }

  // What the model says of the token behind the prompt.
  [[nodiscard]] std::vector<float> logits() const {
    const model::Model& model = *reader_.model;
    const nn::Matrix hidden = model.decode(model::Batch(prompt_), {.pool = pool_});
    const nn::Matrix row = model.logits(nn::rows_of(hidden.view(), hidden.rows() - 1, 1), pool_);
    return {row.data(), row.data() + row.columns()};
  }

  struct Written {
    std::string text;
    Array steps;  // [tokens, 2]: the probability of what was chosen, and that of the likeliest
  };
  [[nodiscard]] Written write(const model::Sampling& sampling) const {
    std::vector<std::vector<float>> seen;
    const model::Generation how{
        .tokens = given_.whole("tokens"), .sampling = sampling, .on_logits = [&](std::span<const float> logits) {
          seen.emplace_back(logits.begin(), logits.end());
        }};
    const std::vector<std::int32_t> ids = model::generate(*reader_.model, prompt_, how, {.pool = pool_});
    Written out{.text = reader_.tokenizer.decode(ids), .steps = Array::zeros({std::ssize(ids), 2})};
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
  const Given& given_;
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

void add_next(Told& told, const Writer& writer, const std::vector<float>& logits) {
  const std::vector<Choice> best = model::likeliest(logits, kShown);
  Array next = Array::zeros({std::ssize(best), 2});
  std::vector<std::string> names;
  figure::Bars bars{.bars = {}, .title = "The next token", .x_label = "probability", .caption = {}};
  for (std::size_t n = 0; n < best.size(); ++n) {
    names.push_back(writer.name(best[n].id));
    next.at(static_cast<std::int64_t>(n), 0) = logits[static_cast<std::size_t>(best[n].id)];
    next.at(static_cast<std::int64_t>(n), 1) = best[n].probability;
    bars.bars.push_back({names.back(), best[n].probability});
  }
  told.words.add("first", names[0]);
  told.words.add("second", names[1]);
  told.arrays.add("next", std::move(next).named(names, {"logit", "p"}));
  told.figures.add("next", std::move(bars));
}

// The same logits at several temperatures, and the reader's own.
void add_temperatures(Told& told, const Writer& writer, const std::vector<float>& logits, double own) {
  const std::vector<Choice> best = model::likeliest(logits, kShown);
  const std::vector<double> temperatures = {0.5, 1, 2, own};
  Array table = Array::zeros({std::ssize(best), std::ssize(temperatures)});
  Array entropy = Array::zeros({1, std::ssize(temperatures)});
  std::vector<std::string> names, columns = {"T = 0.5", "T = 1", "T = 2", "yours"};
  for (const Choice& one : best) names.push_back(writer.name(one.id));
  for (std::size_t t = 0; t < temperatures.size(); ++t) {
    const std::vector<Choice> left = model::candidates(logits, {.temperature = temperatures[t]});
    entropy.numbers[t] = choice_entropy(left);
    for (std::size_t n = 0; n < best.size(); ++n)
      table.at(static_cast<std::int64_t>(n), static_cast<std::int64_t>(t)) = probability_of(left, best[n].id);
  }
  told.arrays.add("ratio", Array::scalar(table.at(0, 1) / table.at(1, 1)));
  told.arrays.add("ratio_half", Array::scalar(table.at(0, 0) / table.at(1, 0)));
  told.arrays.add("temperatures", std::move(table).named(names, columns));
  told.arrays.add("entropy", std::move(entropy).named({"entropy"}, columns));
}

void add_attention(Told& told, const model::Reader& reader, const Given& given, ThreadPool& pool) {
  const insight::RecordedSpecimen specimen(
      model::read(reader, {.text = given.text("sentence"), .pair = {}, .target = {}}, {}, pool));
  const insight::HeadName head{Kind::self, given.whole("layer"), given.whole("head")};
  specimen.check(head);
  Array table = table_of(specimen, head, pool);
  for (std::string& name : table.rows) name = visible(name);
  table.columns = table.rows;
  double above = 0, before = 0;
  for (std::int64_t i = 0; i < table.height(); ++i) {
    for (std::int64_t j = i + 1; j < table.width(); ++j) above = std::max(above, table.at(i, j));
    if (i > 0) before += table.at(i, i - 1) / static_cast<double>(table.height() - 1);
  }
  told.words.add("sentence", given.text("sentence"));
  told.arrays.add("layer", Array::scalar(static_cast<double>(head.layer)));
  told.arrays.add("head", Array::scalar(static_cast<double>(head.head)));
  told.arrays.add("attention", table);
  told.arrays.add("above", Array::scalar(above));
  told.arrays.add("before", Array::scalar(before));
  told.figures.add("attention", heatmap_of(table, short_name(reader) + ", " + to_string(head), {.cmap = "Blues"}));
}

}  // namespace

Told gpt(const Given& given, const Work& work) {
  Told told;
  const model::Reader reader = open_model(given.text("model"));
  const model::Facts& facts = reader.model->facts();
  if (facts.form != model::Form::decoder)
    throw std::invalid_argument(reader.name + " does not go on with a text: this lesson looks at models like GPT");
  const Writer writer(given, reader, work.pool);
  told.words.add("model", short_name(reader));
  told.words.add("prompt", given.text("text"));
  told.arrays.add("vocabulary", Array::scalar(static_cast<double>(facts.vocabulary)));
  told.arrays.add("layers", Array::scalar(static_cast<double>(facts.layers)));
  told.arrays.add("heads", Array::scalar(static_cast<double>(facts.heads.heads)));
  const std::vector<std::string> tokens = names_of(reader.tokenizer.encode(given.text("text")).tokens);
  std::vector<std::string> seen;
  for (const std::string& token : tokens) seen.push_back(visible(token));
  told.words.add("tokens", joined(seen));
  add_attention(told, reader, given, work.pool);

  const std::vector<float> logits = writer.logits();
  const double temperature = given.real("temperature");
  told.arrays.add("temperature", Array::scalar(temperature));
  told.arrays.add("seed", Array::scalar(given.real("seed")));
  add_next(told, writer, logits);
  add_temperatures(told, writer, logits, temperature);

  const Writer::Written greedy = writer.write({});
  const Writer::Written drawn = writer.write({.temperature = temperature,
                                              .top_k = given.whole("top_k"),
                                              .seed = static_cast<std::uint64_t>(given.whole("seed"))});
  told.words.add("greedy_text", greedy.text);
  told.words.add("drawn_text", drawn.text);
  told.arrays.add("greedy", greedy.steps);
  told.arrays.add("drawn", drawn.steps);
  return told;
}

}  // namespace attn::lesson
