// cli/fill.cc - attnscope fill: words for the gaps in a text.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <vector>

#include "command.h"
#include "json.h"
#include "model/generate.h"
#include "model/reading.h"
#include "source.h"
#include "terminal.h"

namespace attn::cli {

namespace {

struct Fill {
  ModelOption model;
  TextOption text;
  std::int64_t top = 5;
  bool json = false;

  void run(ThreadPool& pool) const;
};

struct Gap {
  std::int64_t token = 0;  // its place among the tokens
  std::vector<model::Choice> choices;
};

std::vector<Gap> fill_gaps(const model::Reader& reader, const model::Reading& reading, std::int64_t top,
                           ThreadPool& pool) {
  std::vector<Gap> gaps;
  for (std::size_t i = 0; i < reading.tokens.size(); ++i) {
    if (reading.tokens[i].id != reader.tokenizer.special().mask) continue;
    const auto token = static_cast<std::int64_t>(i);
    const nn::Matrix logits = reader.model->logits(nn::rows_of(reading.hidden.view(), token, 1), pool);
    gaps.push_back({token, model::likeliest({logits.data(), static_cast<std::size_t>(logits.columns())}, top)});
  }
  return gaps;
}

Json to_json(const std::vector<Gap>& gaps, const model::Reader& reader, const model::Reading& reading) {
  Json json = {{"tokens", Json::array()}, {"masks", Json::array()}};
  for (const text::Token& token : reading.tokens) json["tokens"].push_back(token.text);
  for (const Gap& gap : gaps) {
    Json words = Json::array();
    for (const model::Choice& choice : gap.choices) {
      words.push_back({{"word", word_of(reader.tokenizer, choice.id)},
                       {"id", choice.id},
                       {"probability", static_cast<float>(choice.probability)}});
    }
    json["masks"].push_back({{"token", gap.token}, {"words", words}});
  }
  return json;
}

std::string to_table(const std::vector<Gap>& gaps, const text::Tokenizer& tokenizer, const Terminal& terminal) {
  std::string out;
  for (const Gap& gap : gaps) {
    if (gaps.size() > 1) out += terminal.dim(fmt::format("token {}", gap.token)) + "\n";
    for (const model::Choice& choice : gap.choices) {
      out += fmt::format("{}  {:.4f}  {}\n", terminal.bold(fitted(word_of(tokenizer, choice.id), 16)),
                         choice.probability, terminal.bar(choice.probability, 32));
    }
  }
  return out;
}

void Fill::run(ThreadPool& pool) const {
  const std::string written = text.read();
  const model::Reader reader = model::Reader::load(model.folder());
  if (reader.model->facts().form != model::Form::encoder || !reader.model->facts().has_logits) {
    throw std::invalid_argument(
        "this " + reader.model->facts().type +
        " cannot fill gaps: that takes an encoder with a masked-word head, such as bert-base-uncased");
  }
  if (reader.tokenizer.special().mask < 0)
    throw std::invalid_argument("this model's tokenizer has no mask token: it was not trained to fill gaps");
  const std::string whole = with_own_mask(written, reader.tokenizer);
  const model::Reading reading =
      model::read(reader, {.text = whole, .pair = {}, .target = {}}, {.attention = false}, pool);
  const std::vector<Gap> gaps = fill_gaps(reader, reading, top, pool);
  if (gaps.empty()) throw UsageError("the text has no gap: write [MASK] where a word is missing");
  print(json ? as_line(to_json(gaps, reader, reading)) : to_table(gaps, reader.tokenizer, Terminal::of_stdout()));
}

}  // namespace

void add_fill(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<Fill>();
  CLI::App* command = app.add_subcommand("fill", "Find words for the gaps in a text");
  options->model.add_to(*command);
  options->text.add_to(*command, "The text, with [MASK] for each gap");
  command->add_option("--top", options->top, "Words to show")
      ->check(CLI::Range(1, 1000))
      ->type_name("K")
      ->capture_default_str();
  command->add_flag("--json", options->json, "One line of JSON");
  command->callback([options, &shell] { options->run(shell.pool()); });
}

}  // namespace attn::cli
